"""Notices between the parts of the manager."""

from __future__ import annotations

import pytest

from wifimgrd.daemon.manager._notices import Notice


def test_every_subscriber_is_notified_in_the_order_of_the_subscriptions() -> None:
    heard: list[tuple[str, int]] = []
    notice = Notice[int]()
    notice.notify(1)
    notice.subscribe(lambda value: heard.append(("first", value)))
    notice.subscribe(lambda value: heard.append(("second", value)))
    notice.notify(2)
    assert heard == [("first", 2), ("second", 2)]


def test_what_a_subscriber_raises_reaches_the_notifier_and_no_later_subscriber_is_called() -> None:
    def fails(value: int) -> None:
        raise ValueError(value)

    heard: list[int] = []
    notice = Notice[int]()
    for subscriber in (heard.append, fails, heard.append):
        notice.subscribe(subscriber)
    with pytest.raises(ValueError, match="3"):
        notice.notify(3)
    assert heard == [3]
