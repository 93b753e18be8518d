"""Why there is no connection to the broker, or a message is refused: sentences that say what to do. Pure."""

from __future__ import annotations

import errno
import ssl
from typing import Final

FAILURE: Final = 0x80
"""Reason codes of refusals are this and above (MQTT 5, 2.4)."""
NOT_AUTHORIZED: Final = 0x87
PACKET_TOO_LARGE: Final = 0x95
UNSUITABLE: Final = (
    "the broker does not send its retained messages for filters with wildcards: nobody can list hubs there,"
    " and what is removed while a hub is offline stays. Use another one (docs/fleet.md, What a broker needs)"
)
TOO_LARGE: Final = "the broker sent a packet that is too large: is it really an MQTT broker?"
NOT_FROM_BROKER: Final = (
    "the broker sent a packet that only clients send, or one for QoS 2: is that a broker?"
)
ACCEPTED_TWICE: Final = "the broker has accepted the connection twice: is that a broker?"
QOS_2: Final = "the broker sent a message with QoS 2, which nothing has subscribed with"
UNACKNOWLEDGED: Final = "the broker acknowledges no message"
DOES_NOT_READ: Final = "the broker sends, but does not read the answers"

_CONNECTION: Final = {
    2: "the client id is not valid",
    3: "it is not available",
    4: "wrong user or password",
    5: "not authorized: wrong user, password or client certificate",
    0x85: "the client id is not valid",
    0x86: "wrong user or password",
    NOT_AUTHORIZED: "not authorized: wrong user, password or client certificate",
    0x88: "it is not available",
    0x89: "it is busy",
    0x8A: "this client is banned",
    0x8C: "it requires a different authentication method",
    0x97: "its quota is exceeded",
    0x9A: "it does not retain messages, which records need: allow that (Mosquitto: retain_available)",
    0x9B: "it does not accept QoS 1: allow that (Mosquitto: max_qos)",
    0x9C: "it names another server: use that one's address",
    0x9D: "it has moved: use the new address",
    0x9F: "too many clients connect at once",
}
"""By the code of CONNACK (MQTT 3.1.1, table 3.1; MQTT 5, 3.2.2.2)."""
_LOST: Final = {
    16: "it did not answer in time",  # MQTT_ERR_KEEPALIVE, paho's own
    NOT_AUTHORIZED: "this client is no longer authorized",
    0x89: "it is busy",
    0x8B: "it is shutting down",
    0x8D: "it did not answer in time",
    0x8E: "another client connected with the same client id",
    PACKET_TOO_LARGE: "a message is larger than it accepts (Mosquitto: max_packet_size)",
    0x97: "its quota is exceeded",
    0x98: "it was closed there by an administrator",
    0x9F: "too many clients connect at once",
}
"""By the code of DISCONNECT (MQTT 5, 3.14.2.1), and the library's."""
_MESSAGE: Final = {
    NOT_AUTHORIZED: "this user may not write there",
    0x90: "the name of the topic is not valid there",
    PACKET_TOO_LARGE: "it is larger than the broker accepts (Mosquitto: max_packet_size, message_size_limit)",
    0x97: "the broker's quota is exceeded: it is full, or its limits are too low",
}
"""By the code of PUBACK (MQTT 5, 3.4.2.1)."""
_NO_KEY_USAGE: Final = (
    "is signed by an authority without the extension keyUsage=critical,keyCertSign: make that again"
)
_CERTIFICATE: Final = {
    9: "is not valid yet: is the clock of this host right?",
    10: "has expired: renew it, or correct the clock of this host",
    18: "is not signed by an authority that this host trusts: is the CA file right?",
    19: "is not signed by an authority that this host trusts: is the CA file right?",
    20: "is not signed by an authority that this host trusts: is the CA file right?",
    32: _NO_KEY_USAGE,
    85: "does not name its authority's key: sign it again with the extension authorityKeyIdentifier",
    86: "or its authority's lacks the extension subjectKeyIdentifier: make them again with it",
    89: "is signed by an authority whose extension basicConstraints is not critical: make that again",
    92: _NO_KEY_USAGE,
    62: "is for another name",
    64: "is for another address",
}
"""By the code of X509_verify_cert(3)."""
_REFUSED: Final = "the broker refuses this client's certificate: "
_ALERTS: Final = {
    "CERTIFICATE_EXPIRED": _REFUSED + "it has expired, or the clock of the broker's host is wrong",
    "CERTIFICATE_REQUIRED": "the broker requires a client certificate at this port",
    "HANDSHAKE_FAILURE": "the broker requires a client certificate at this port, or has no cipher in common",
    "UNKNOWN_CA": _REFUSED + "it is not signed by an authority that the broker trusts",
    "CERTIFICATE_REVOKED": _REFUSED + "it is revoked",
    "BAD_CERTIFICATE": _REFUSED + "it is not valid there: is the clock of the broker's host right?",
}
"""By the alert that the broker sends about a client certificate (RFC 8446, 6.2), as OpenSSL names it."""
_FULL: Final = "has it reached a limit, of connections or of memory"
_NO_TLS: Final = f"{_FULL}, or does it expect TLS or a client certificate?"
_TLS: Final = f"{_FULL}, does it expect a client certificate, or is it the port of mqtt://?"


def connection_refused(code: int) -> str:
    """The broker has answered, and refuses the connection."""
    return f"the broker refuses the connection: {_CONNECTION.get(code, f'code {code}')}"


def message_refused(code: int) -> str:
    """The broker does not accept a message."""
    return _MESSAGE.get(code, f"code {code}")


def connection_lost(code: int, failure: OSError | None, *, was_accepted: bool) -> str:
    """The connection was lost: `code` of DISCONNECT or of the library, and what the socket has raised."""
    alert = None if failure is None else _alert(failure)
    if alert is not None:
        return alert
    if failure is not None and failure.errno == errno.EMSGSIZE:
        return TOO_LARGE
    if code in _LOST:
        return f"the connection to the broker was lost: {_LOST[code]}"
    if not was_accepted:
        return f"the broker closed the connection before it answered: {_NO_TLS}"
    return "the connection to the broker was lost"


def cannot_connect(broker: str, error: Exception) -> str:
    """There is no connection, since its socket or TLS could not be opened."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = _CERTIFICATE.get(error.verify_code, f"is not accepted: {error.verify_message}")
        return f"the certificate of {broker} {reason}"
    alert = _alert(error)
    if alert is not None:
        return alert
    if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":
        return f"{broker} does not speak TLS: is it the port of mqtt://?"
    if isinstance(error, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError):
        advice = _TLS if broker.startswith("mqtts:") else _NO_TLS
        return f"{broker} closed the connection before it answered: {advice}"
    return f"cannot connect to {broker}: {error}"


def _alert(error: Exception) -> str | None:
    """The broker's objection to a client certificate; None if that is not the reason."""
    name = getattr(error, "reason", None) or ""
    return next((text for alert, text in _ALERTS.items() if name.endswith(f"ALERT_{alert}")), None)
