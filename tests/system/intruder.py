"""Run in a unit's sandbox, as its user: does what an attacker in the place of its process would, and writes
what came of each act as JSON. Arguments: the unit's name, a file with a JSON object of what it may meet."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NM = "org.freedesktop.NetworkManager"
NM_ROOT = "/org/freedesktop/NetworkManager"
WPAS = "fi.w1.wpa_supplicant1"
WPAS_ROOT = "/fi/w1/wpa_supplicant1"
HELPER = ("org.wifimgrd1.Net", "/org/wifimgrd1/net", "org.wifimgrd1.Net")
PROPERTIES = "org.freedesktop.DBus.Properties"
SYSTEMD = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
UUID = "12345678-9abc-4def-8123-456789abcdef"
PROFILE = (
    *("3", "connection", "4", "id", "s", "intruder", "type", "s", "bridge", "uuid", "s", UUID),
    *("interface-name", "s", "cable0"),
    *("ipv4", "1", "method", "s", "disabled", "ipv6", "1", "method", "s", "disabled"),
)
_NOBODYS_UID = 65534
_PR_GET_NO_NEW_PRIVS = 39
_NEVER = str(2**63)

Acts = dict[str, Callable[[], str]]


def attempt(what: Callable[..., Any], *arguments: Any) -> Callable[[], str]:
    """An act of Python's: "done", or what the system says."""

    def act() -> str:
        try:
            what(*arguments)
        except OSError as error:
            return f"refused: {error.strerror}"
        return "done"

    return act


def run(*command: str) -> Callable[[], str]:
    """A program: what it writes."""

    def act() -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"done {done.stdout}" if done.returncode == 0 else f"refused: {done.stderr}"

    return act


def call(*arguments: str) -> Callable[[], str]:
    """A call on the system bus: what it answers."""
    command = ("busctl", "--system", "--timeout=20", "--allow-interactive-authorization=no", "call")
    return run(*command, *arguments)


def device_of(interface: str) -> str:
    """NetworkManager's object of an interface, for who may look it up; another one replaces it at times."""
    found = call(NM, NM_ROOT, NM, "GetDeviceByIpIface", "s", interface)()
    return found.split('"')[1] if found.startswith("done") else "/"


def activate_any_on(interface: str) -> Callable[[], str]:
    """Have NetworkManager activate a profile that is none of the hub's."""

    def act() -> str:
        device = (device_of(interface), "/", "1", "persist", "s", "volatile")
        return call(NM, NM_ROOT, NM, "AddAndActivateConnection2", "a{sa{sv}}ooa{sv}", *PROFILE, *device)()

    return act


def listen_on(port: int) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()


def hear_on(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", port))


def network(interface: str, device: str) -> tuple[str, ...]:
    """The arguments of ActivateProfile."""
    ssid = ("3", "67", "65", "77")
    return (interface, "7", *ssid, "wpa-psk", "password-7", "", "false", device, UUID, "20", "", _NEVER)


def services(met: dict[str, str]) -> Acts:
    """What only some may do in NetworkManager and wpa_supplicant."""
    root = (NM, NM_ROOT, NM)
    connection = (NM, met["profile"], f"{NM}.Settings.Connection")
    return {
        "activate any profile": activate_any_on(met["cable"]),
        "add a profile": call(
            NM, f"{NM_ROOT}/Settings", f"{NM}.Settings", "AddConnection", "a{sa{sv}}", *PROFILE
        ),
        "read secrets": call(*connection, "GetSecrets", "s", "802-11-wireless-security"),
        "read a profile": call(*connection, "GetSettings"),
        "change a profile": call(*connection, "Update", "a{sa{sv}}", "0"),
        "end a connection": call(*root, "DeactivateConnection", "o", met["active"]),
        "delete a profile": call(*connection, "Delete"),
        # Last: it would be another connection that is ended, and where it is deleted nothing happens.
        "activate a profile that is there": call(
            *root, "ActivateConnection", "ooo", met["profile"], "/", "/"
        ),
        "switch networking off": call(*root, "Enable", "b", "false"),
        "have it sleep": call(*root, "Sleep", "b", "true"),
        "switch Wi-Fi off": call(NM, NM_ROOT, PROPERTIES, "Set", "ssv", NM, "WirelessEnabled", "b", "false"),
        "stop managing a device": call(
            NM, met["device"], PROPERTIES, "Set", "ssv", f"{NM}.Device", "Managed", "b", "false"
        ),
        "disconnect a device": call(NM, met["device"], f"{NM}.Device", "Disconnect"),
        "show keys": call(WPAS, WPAS_ROOT, PROPERTIES, "Set", "ssv", WPAS, "DebugShowKeys", "b", "true"),
        "register an interface": call(
            *(WPAS, WPAS_ROOT, WPAS, "CreateInterface", "a{sv}", "1", "Ifname", "s", "no-such-one")
        ),
        "add a network": call(
            WPAS, f"{WPAS_ROOT}/Interfaces/1", f"{WPAS}.Interface", "AddNetwork", "a{sv}", "0"
        ),
        "set an interface's property": call(
            *(WPAS, f"{WPAS_ROOT}/Interfaces/1", PROPERTIES, "Set", "ssv"),
            *(f"{WPAS}.Interface", "Country", "s", "DE"),
        ),
        "use another method of wpa_supplicant": call(WPAS, WPAS_ROOT, WPAS, "ExpectDisconnect"),
        "look an interface up": call(WPAS, WPAS_ROOT, WPAS, "GetInterface", "s", "no-such-one"),
    }


def everywhere() -> Acts:
    """What no process may, or each in its own measure."""
    libc = ctypes.CDLL(None, use_errno=True)
    acts: Acts = {
        f"write {path}": attempt(Path(path).write_text, "x")
        for path in (
            *("/etc/intruder", "/usr/intruder", "/var/lib/intruder", "/run/intruder", "/home/intruder"),
            *("/sys/class/net/lo/mtu", "/proc/sys/net/ipv4/ip_forward", "/etc/wifimgrd/intruder.toml"),
        )
    }
    return acts | {
        "read the state": attempt(os.listdir, "/var/lib/wifimgrd"),
        "become root": attempt(os.setuid, 0),
        "become nobody": attempt(os.setuid, _NOBODYS_UID),
        "gain by a setuid program": lambda: (
            "refused" if libc.prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) else "done"
        ),
        "run a unit as root": call(*SYSTEMD, "StartUnit", "ss", "rescue.target", "replace"),
        "make a unit": call(
            *(*SYSTEMD, "StartTransientUnit", "ssa(sv)a(sa(sv))", "intruder.service", "fail", "0", "0")
        ),
        "make a TCP socket": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()),
        "make an IPv6 socket": attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close()),
        "make a packet socket": attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
        "listen on a port": attempt(listen_on, 8554),
        "listen on a UDP port": attempt(hear_on, 14560),
        "get a report": call(
            "org.wifimgrd1", "/org/wifimgrd1", "org.wifimgrd1.Manager", "Diagnose", "a{sv}", "0"
        ),
        "read all objects": call(
            "org.wifimgrd1", "/org/wifimgrd1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"
        ),
        "stop a recording": call(
            *("org.wifimgrd1", "/org/wifimgrd1", "org.wifimgrd1.Manager", "StopRecording"),
            *("aoa{sv}", "1", "/org/wifimgrd1/devices/1", "0"),
        ),
        "have the settings read again": call(
            "org.wifimgrd1", "/org/wifimgrd1", "org.wifimgrd1.Manager", "Reload", "a{sv}", "0"
        ),
        "disconnect a camera": call(
            "org.wifimgrd1", "/org/wifimgrd1/devices/1", "org.wifimgrd1.Device", "Disconnect", "a{sv}", "0"
        ),
    }


def through_the_helper(met: dict[str, str]) -> Acts:
    """What the daemon has the helper do, and what it would like to."""
    return {
        "end a connection through the helper": call(*HELPER, "DeactivateProfile", "o", met["active"]),
        "delete a profile through the helper": call(*HELPER, "DeleteProfile", "o", met["profile"]),
        "activate on a cable": call(
            *HELPER, "ActivateProfile", "staysssbosust", *network("lo", met["device"])
        ),
        "activate on the host's uplink": call(
            *HELPER, "ActivateProfile", "staysssbosust", *network(met["uplink"], met["device"])
        ),
        "activate on another device": call(
            *HELPER, "ActivateProfile", "staysssbosust", *network(met["adapter"], met["device"])
        ),
        "stop managing the host's uplink": call(*HELPER, "SetManaged", "sb", met["uplink"], "false"),
        "set the country to a file": call(*HELPER, "SetCountry", "ss", met["adapter"], "/etc/passwd"),
    }


def of_the_helper() -> Acts:
    """What the helper's process has, and where that ends."""
    folder = Path("/run/systemd/network")
    unit = "systemd-networkd.service"
    return {
        "write a file for networkd": attempt(Path(folder, "05-intruder.network").write_text, ""),
        "remove that file": attempt(Path(folder, "05-intruder.network").unlink),
        "change a file of the host's": attempt(Path(folder, "90-host.network").write_text, ""),
        "remove a file of the host's": attempt(Path(folder, "90-host.network").unlink),
        "write rp_filter": attempt(Path("/proc/sys/net/ipv4/conf/lo/rp_filter").write_text, "0"),
        "add a route": run("ip", "route", "add", "blackhole", "198.51.100.0/24", "table", "77"),
        "stop networkd": call(*SYSTEMD, "StopUnit", "ss", unit, "replace"),
        "start another unit": call(*SYSTEMD, "StartUnit", "ss", "systemd-timesyncd.service", "replace"),
        "reload networkd": call(
            "org.freedesktop.network1",
            "/org/freedesktop/network1",
            "org.freedesktop.network1.Manager",
            "Reload",
        ),
    }


def main(unit: str, met: dict[str, str]) -> None:
    """Do all of it, what changes most last."""
    acts = everywhere()
    if "STATE_DIRECTORY" in os.environ:
        acts["write its state"] = attempt(Path(os.environ["STATE_DIRECTORY"], "intruder").write_text, "x")
    if unit == "wifimgrd":
        acts |= through_the_helper(met)
    if unit == "wifimgrd-net":
        acts |= of_the_helper()
    acts |= services(met)
    sys.stdout.write(json.dumps({name: act() for name, act in acts.items()}))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
