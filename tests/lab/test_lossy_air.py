"""A wrong password is told in two seconds, and no lost frame is taken for one. `make soak JOINS=1000` has the
long version."""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.faults.random_life import seed

from .backends import on_both
from .guest.access_point import Camera
from .guest.lossy_air import lossy_air
from .guest.whole_hub import WholeHub, journal_of_daemon

Cameras = Callable[..., Camera]

JOINS = int(os.environ.get("WIFIMGRD_JOINS") or "6")
SAID_EVERY = 50
"""Joins: a long run says how far it is."""


@on_both
async def test_a_wrong_password_is_told_before_the_access_point_gives_up(
    hub: WholeHub, cameras: Cameras
) -> None:
    """By the replies that it ignores, however long it would go on to ask."""
    camera = cameras("A")
    camera.stop()
    camera.network = replace(camera.network, tries=60)
    camera.on()
    device = await hub.add(camera, password="not-the-password")
    await hub.failed(device, "authentication-failed")
    assert "replies_ignored" in journal_of_daemon()


@on_both
@pytest.mark.parametrize("is_known", [True, False])
async def test_a_lost_frame_is_no_wrong_password(
    hub: WholeHub, cameras: Cameras, capsys: pytest.CaptureFixture[str], *, is_known: bool
) -> None:
    """Also where an access point that ignores replies would be told at once: with a device that was never
    connected."""
    camera = cameras("A", repeats_message_3=True)
    device = await hub.add(camera)
    await hub.until(device, "connected")
    outcomes: Counter[str] = Counter()
    with lossy_air(random.Random(seed()), lost=0.3, unacknowledged=0.1) as air:
        while outcomes.total() < JOINS:
            if is_known:
                assert (await hub.disconnect(device))[0] == 200
            else:
                assert (await hub.ask("DELETE", f"/{device}/"))[0] == 204
                device = await hub.add(camera)
            status, problem = await hub.connect(device)
            outcomes["connected" if status == 200 else problem["code"]] += 1
            assert not outcomes["authentication-failed"], outcomes
            if outcomes.total() % SAID_EVERY == 0:
                with capsys.disabled():
                    sys.stdout.write(f"\n{outcomes.total()} joins: {dict(outcomes)}\n")
                    sys.stdout.flush()
    assert air.lost
    assert outcomes["connected"] > JOINS // 2, outcomes
