"""What a broker's refusals are in the log."""

from __future__ import annotations

import ssl

import pytest

from wifimgrd.mqtt._refusals import cannot_connect, connection_lost, connection_refused, message_refused


@pytest.mark.parametrize(
    ("code", "said"),
    [(4, "wrong user or password"), (0x9A, "retain_available"), (0x97, "quota"), (0xEE, "code 238")],
)
def test_a_refused_connection_has_its_reason(code: int, said: str) -> None:
    assert said in connection_refused(code)


@pytest.mark.parametrize(
    ("code", "was_accepted", "said"),
    [
        (0, False, "has it reached a limit, of connections or of memory"),
        (0, True, "the connection to the broker was lost"),
        (0x8D, True, "it did not answer in time"),
        (0x8E, True, "the same client id"),
        (0x95, True, "max_packet_size"),
    ],
)
def test_a_lost_connection_has_the_reason_that_the_broker_gave(
    code: int, was_accepted: bool, said: str
) -> None:
    assert said in connection_lost(code, None, was_accepted=was_accepted)


def test_a_refused_message_has_its_reason() -> None:
    assert "may not write" in message_refused(0x87)
    assert "max_packet_size" in message_refused(0x95)
    assert message_refused(0x80) == "code 128"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionResetError(), "closed the connection before it answered"),
        (ssl.SSLEOFError(8, "EOF occurred"), "or is it the port of mqtt://?"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
    ],
)
def test_a_connection_that_cannot_be_opened_has_its_reason(error: OSError, said: str) -> None:
    sentence = cannot_connect("mqtts://broker.example:8883", error)
    assert "mqtts://broker.example:8883" in sentence
    assert said in sentence
