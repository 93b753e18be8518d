"""Radios of mac80211_hwsim, added and removed over generic netlink.

Numbers from Linux 6.1, drivers/net/wireless/mac80211_hwsim.h (HWSIM_CMD_*, HWSIM_ATTR_*), and
include/uapi/linux/{netlink,genetlink}.h. All radios receive each other, whichever network namespace they live
in, as long as they were created in the first one.
"""

import os
import socket
import struct
from pathlib import Path
from typing import Literal

from tests.namespaces import in_network

from .namespace import run

# "short": hwsim's custom regulatory domain 1 (2.4 GHz channels 1-11, 5725-5850 MHz), a scan takes 1.3-2.6 s.
# "all": what the kernel's regulatory domain allows, a scan takes 9-11 s.
Channels = Literal["short", "all"]

_NETLINK_GENERIC = 16
_NLM_F_REQUEST, _NLM_F_ACK = 1, 4
_NLMSG_ERROR = 2
_GENL_ID_CTRL, _CTRL_CMD_GETFAMILY, _CTRL_ATTR_FAMILY_ID, _CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
_CMD_NEW_RADIO, _CMD_DEL_RADIO = 4, 5
_ATTR_REG_CUSTOM_REG, _ATTR_RADIO_NAME, _ATTR_NO_VIF, _ATTR_PERM_ADDR = 12, 17, 18, 22
_SHORT_LIST = 1

PHYS = Path("/sys/class/ieee80211")
_DEBUG = Path("/sys/kernel/debug")
_TRANSMIT_DBM = 20


def add_radio(
    name: str, permanent_address: str, channels: Channels = "short", *, interface: bool = True
) -> None:
    """Add a radio, whose phy gets this name; with an interface (wlan0, ...), as an adapter's driver does."""
    attributes = _name(name)
    attributes += attribute(_ATTR_PERM_ADDR, bytes.fromhex(permanent_address.replace(":", "")))
    if not interface:
        attributes += attribute(_ATTR_NO_VIF, b"")
    if channels == "short":
        attributes += attribute(_ATTR_REG_CUSTOM_REG, struct.pack("I", _SHORT_LIST))
    with generic_netlink() as netlink:
        request(netlink, family_of_hwsim(netlink), _CMD_NEW_RADIO, attributes)


def remove_radio(name: str, namespace: str | None = None) -> None:
    """Remove a radio; hwsim looks for it only in the network namespace that the request comes from."""
    where = None if namespace is None else Path("/run/netns", namespace)
    with in_network(where), generic_netlink() as netlink:
        request(netlink, family_of_hwsim(netlink), _CMD_DEL_RADIO, _name(name))


def set_signal(name: str, dbm: int) -> None:
    """Set the signal at which all others receive a radio, for a transmit power of 20 dBm."""
    if not _DEBUG.joinpath("ieee80211").is_dir():
        run("mount", "-t", "debugfs", "debugfs", str(_DEBUG))
    unsigned = (dbm - _TRANSMIT_DBM) % 2**64  # the file takes no sign since Linux 5.19
    _DEBUG.joinpath("ieee80211", name, "hwsim/rx_rssi").write_text(f"{unsigned}\n")


def radios() -> list[str]:
    """Name the radios of this network namespace."""
    return sorted(phy.name for phy in PHYS.iterdir()) if PHYS.exists() else []


def generic_netlink() -> socket.socket:
    """A socket for requests to hwsim."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC)
    netlink.bind((0, 0))
    return netlink


def attribute(kind: int, payload: bytes) -> bytes:
    """An attribute of a request."""
    return struct.pack("HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def _name(radio: str) -> bytes:
    return attribute(_ATTR_RADIO_NAME, radio.encode() + b"\0")


def request(netlink: socket.socket, family: int, command: int, attributes: bytes) -> bytes:
    """Send one request and return the answer's payload, or b"" where only an acknowledgement comes."""
    body = struct.pack("BBH", command, 1, 0) + attributes
    netlink.send(struct.pack("IHHII", 16 + len(body), family, _NLM_F_REQUEST | _NLM_F_ACK, 1, 0) + body)
    answer = b""
    while True:
        datagram = netlink.recv(65536)
        while datagram:
            length, kind = struct.unpack_from("IH", datagram)
            message, datagram = datagram[:length], datagram[(length + 3) & ~3 :]
            if kind != _NLMSG_ERROR:
                answer = message[20:]
                continue
            (error,) = struct.unpack_from("i", message, 16)
            if error < 0:
                raise OSError(-error, os.strerror(-error))
            return answer  # 0, or the new radio's number, which hwsim hands back as a positive "error"


def family_of_hwsim(netlink: socket.socket) -> int:
    """Find the number that generic netlink gave to hwsim."""
    wanted = attribute(_CTRL_ATTR_FAMILY_NAME, b"MAC80211_HWSIM\0")
    answer = request(netlink, _GENL_ID_CTRL, _CTRL_CMD_GETFAMILY, wanted)
    while answer:
        length, kind = struct.unpack_from("HH", answer)
        if kind == _CTRL_ATTR_FAMILY_ID:
            return int(struct.unpack_from("H", answer, 4)[0])
        answer = answer[(length + 3) & ~3 :]
    raise LookupError("generic netlink has no MAC80211_HWSIM: is the module loaded?")
