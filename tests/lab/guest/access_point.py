"""Cameras: access points with a DHCP and a web server, each in a network namespace of its own."""

import ipaddress
import re
import shutil
import signal
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import hwsim
from .deadline import poll_until
from .hostapd import BRIDGE, Mechanism, Network, Refusal, Security, admitting, refusing
from .namespace import Namespace, run

_RUN = Path("/run/cameras")
_INTERFACE = "ap0"
_LARGE_FILE_BYTES = 512 * 2**20  # sparse; far more than a test can fetch
# One numbered line each 0.1 s, until the client goes away: a gap in the numbers or in time is a broken link.
TICKS = """#!/bin/busybox sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
n=0
while n=$((n + 1)) && echo $n; do /bin/busybox sleep 0.1; done
"""


@dataclass(frozen=True)
class SlowOffers:
    """A DHCP server that takes its time."""

    seconds: int
    one_at_a_time: bool = False  # while it prepares an offer, it receives nothing


@dataclass(frozen=True)
class DhcpRequest:
    """What a server with slow offers has received."""

    time_s: float  # since the server was started
    is_discover: bool
    transaction: str


@dataclass(frozen=True)
class Lease:
    """An address that is lent whatever network it is of."""

    address: str
    prefix: int
    router: str = "192.168.42.1"  # empty: none is named
    seconds: int = 3600

    @property
    def options(self) -> str:
        """As lines of udhcpd's configuration."""
        mask = ipaddress.IPv4Network((0, self.prefix)).netmask
        return f"option subnet {mask}\n" + (f"option router {self.router}\n" if self.router else "")


class Camera:
    """A camera that can be switched on and off, cut from power, taken from the world, and made to misbehave.

    At http://192.168.42.1/ it answers its name; `/large.bin` is 512 MiB of zeros, `/cgi-bin/ticks` numbered
    lines, one each 0.1 s, for ever. Its BSSID follows from its name, and stays.
    """

    def __init__(
        self,
        name: str,
        ssid: bytes | str | None = None,
        password: str | None = None,
        security: Security = "wpa2",
        *,
        channel: int = 1,
        hidden: bool = False,
        country: str | None = None,
        repeats_message_3: bool = False,
        refusal: Refusal | None = None,
        mechanism: Mechanism = "both",
        subnet: str = "192.168.42",
        leases: tuple[int, int] = (10, 99),
        lease_s: int | None = None,
        dhcp_options: Sequence[str] = (),
        lease: Lease | None = None,
        slow_offers: SlowOffers | None = None,
    ) -> None:
        self.name = name
        self.ssid = ssid.encode() if isinstance(ssid, str) else ssid or f"CAM_{name}".encode()
        self.password = "" if security.startswith(("open", "owe")) else password or f"secret-{name}"
        self.network = Network(
            self.ssid, self.password, security, channel, hidden, country, repeats_message_3, mechanism
        )
        self.refusal = refusal
        self.subnet = subnet
        self.address = f"{subnet}.1"
        self.leases = leases  # first and last host number that the DHCP server hands out
        self.lease_s = lease_s  # None: an hour
        self.dhcp_options = dhcp_options  # as dnsmasq's --dhcp-option-force takes them, e.g. "26,576"
        self.lease = lease  # instead of one of its subnet's
        self.slow_offers = slow_offers
        self.bssid = "02:ca:" + zlib.crc32(name.encode()).to_bytes(4).hex(":")
        self._twin_bssid = self.bssid[:-2] + f"{int(self.bssid[-2:], 16) ^ 2:02x}"
        self._lan = BRIDGE if security == "owe-transition" else _INTERFACE
        self._phy = f"cam{name}"
        self._folder = Path(_RUN, name)
        self._namespace = Namespace(f"cam-{name}", self._folder)

    def start(self) -> None:
        """Bring the camera into the world, switched on."""
        self._folder.joinpath("www/cgi-bin").mkdir(parents=True)
        self._folder.joinpath("www/index.html").write_text(self.name + "\n")
        with self._folder.joinpath("www/large.bin").open("wb") as large:
            large.truncate(_LARGE_FILE_BYTES)
        ticks = self._folder.joinpath("www/cgi-bin/ticks")
        ticks.write_text(TICKS)
        ticks.chmod(0o755)
        self._namespace.create()
        hwsim.add_radio(self._phy, self.bssid, self._channels, interface=False)
        run("iw", "phy", self._phy, "set", "netns", "name", self._namespace.name)
        self._namespace.run("iw", "phy", self._phy, "interface", "add", _INTERFACE, "type", "managed")
        if self._lan == BRIDGE:
            self._namespace.run("ip", "link", "add", BRIDGE, "up", "type", "bridge")
        self._namespace.run("ip", "address", "add", f"{self.address}/24", "dev", self._lan)
        self.on()
        self.dhcp_on()
        self._namespace.start(
            "busybox", "httpd", "-f", "-vv", "-p", f"{self.address}:80", "-h", str(self._folder / "www")
        )

    def on(self) -> None:
        """Switch it on: returns when it beacons."""
        configuration = self._folder / "hostapd.conf"
        configuration.write_text(
            self.network.configuration(_INTERFACE, str(self._control), self.refusal, self._twin_bssid)
        )
        self._namespace.start("hostapd", "-t", str(configuration))
        poll_until(self._beacons, f"the beacons of camera {self.name}", 20)

    def stop(self) -> None:
        """Switch it off in order: its stations are notified (deauthentication)."""
        self._namespace.end("hostapd")

    def kill(self) -> None:
        """Cut its power: nothing more is sent, and nobody is notified."""
        self.crash()
        self.fall_silent()

    def crash(self) -> None:
        """Let its program die; its radio beacons on."""
        self._namespace.end("hostapd", signal.SIGKILL)

    def fall_silent(self) -> None:
        """Switch its radio off; for a camera that has crashed."""
        self._namespace.run("ip", "link", "set", _INTERFACE, "down")

    def weaken(self, dbm: int = -80) -> None:
        """Let stations receive it at this signal, from now on."""
        hwsim.set_signal(self._phy, dbm)

    def change_bssid(self, bssid: str) -> None:
        """Send under another address from the next time it is switched on."""
        self.bssid = bssid
        self.fall_silent()
        self._namespace.run("ip", "link", "set", _INTERFACE, "address", bssid)

    def down(self) -> None:
        """Take the camera out of the world; start() brings it back."""
        if self._namespace.exists:
            for program in ("hostapd", "dnsmasq", "busybox"):
                self._namespace.end(program, signal.SIGKILL)
            hwsim.remove_radio(self._phy, self._namespace.name)
            self._namespace.delete()
        shutil.rmtree(self._folder, ignore_errors=True)

    def dhcp_off(self) -> None:
        """Let its DHCP server die: stations join, and get no address; leases are not renewed."""
        for program in ("dnsmasq", "udhcpd", "slow_dhcp"):
            self._namespace.end(program)

    def dhcp_on(self) -> None:
        """Start its DHCP server."""
        first, last = (f"{self.subnet}.{host}" for host in self.leases)
        if self.lease is not None:
            self._namespace.run("ip", "route", "replace", "default", "dev", _INTERFACE)
            self._lend(self.lease.address, self.lease.address, self.lease.seconds, self.lease.options)
            return
        if self.lease_s is not None:
            self._lend(
                first, last, self.lease_s, f"option subnet 255.255.255.0\noption router {self.address}\n"
            )
            return
        options = [f"--dhcp-option-force={option}" for option in self.dhcp_options]
        if self.slow_offers is not None:
            if not self.slow_offers.one_at_a_time:
                self._offer_slowly(first, self.slow_offers.seconds)
                return
            options.append(f"--dhcp-reply-delay={self.slow_offers.seconds}")
        self._namespace.start(
            "dnsmasq", "-k", "-p0", "-C/dev/null", f"--interface={self._lan}", "--bind-interfaces",
            "--dhcp-authoritative", "--no-ping", f"--dhcp-range={first},{last},1h", "--log-dhcp",
            f"--dhcp-leasefile={self._folder}/leases", "--user=root", *options,
        )  # fmt: skip

    def dhcp_requests(self) -> list[DhcpRequest]:
        """What its DHCP server has received; with `slow_offers` that do not wait for one another only."""
        lines = [line.split() for line in self.log("slow_dhcp").splitlines()]
        return [DhcpRequest(float(time_s), kind == "1", xid) for time_s, kind, xid in lines]

    def _offer_slowly(self, address: str, seconds: float) -> None:
        program = Path(__file__).with_name("slow_dhcp.py")
        self._namespace.start(
            "python3", str(program), _INTERFACE, self.address, address, str(seconds), known_as="slow_dhcp"
        )

    def renewals(self) -> int:
        """How often its DHCP server lent or renewed an address, since it was started; with `lease_s` only."""
        return self.log("udhcpd").count("sending ACK")

    def lend(self, lease: Lease) -> None:
        """Lend another address from now on; a lease that is out is not renewed any more."""
        self.lease = lease
        self.dhcp_off()
        self.dhcp_on()

    def _lend(self, first: str, last: str, seconds: int, options: str) -> None:
        """By a server that can: dnsmasq lends for two minutes or more, and addresses of its own network."""
        leases = self._folder / "udhcpd.leases"
        leases.write_bytes(b"")
        configuration = self._folder / "udhcpd.conf"
        configuration.write_text(
            f"start {first}\nend {last}\ninterface {_INTERFACE}\nlease_file {leases}\n"
            f"pidfile {self._folder}/udhcpd.pid\nmin_lease 1\n"
            f"option lease {seconds}\n{options}"
        )
        self._namespace.start("busybox", "udhcpd", "-f", str(configuration), known_as="udhcpd")

    def push(self, host: str, port: int, text: str) -> None:
        """Send a datagram by itself, from a port that is the same for all cameras."""
        self._namespace.run(
            "sh", "-c", f"printf {text} | socat - UDP:{host}:{port},sourceport=5004,reuseaddr"
        )

    def stream(self, host: str, port: int, data: int) -> None:
        """Send so many bytes by a TCP connection of its own; returns when they are sent."""
        self._namespace.run("sh", "-c", f"head -c {data} /dev/zero | socat -u - TCP:{host}:{port}")

    def count_requests(self) -> None:
        """Count from now on what its web server is sent."""
        chain = "add chain ip asked received { type filter hook input priority -1; }"
        for command in ("add table ip asked", chain, "add rule ip asked received tcp dport 80 counter"):
            self._namespace.run("nft", command)

    def requests(self) -> int:
        """How many packets that were."""
        [packets] = re.findall(r"counter packets (\d+)", self._namespace.run("nft", "list table ip asked"))
        return int(packets)

    def mute(self) -> None:
        """Drop what its web server is sent, and the beginnings of connections to it; all else goes on."""
        chain = "add chain ip mute received { type filter hook input priority 0; }"
        for command in ("add table ip mute", chain, "add rule ip mute received tcp dport 80 drop"):
            self._namespace.run("nft", command)

    def unmute(self) -> None:
        """End that."""
        self._namespace.run("nft", "delete table ip mute")

    def hang(self) -> None:
        """Let its whole IP side hang: it stays on the air and answers nothing, not even ARP."""
        chain = "add chain ip hang received { type filter hook input priority 0; policy drop; }"
        for command in ("add table ip hang", chain):
            self._namespace.run("nft", command)
        self._namespace.run("ip", "link", "set", _INTERFACE, "arp", "off")

    def lose_requests(self) -> None:
        """Drop what its DHCP server is sent, as if it were lost on the way."""
        chain = "add chain ip lost requests { type filter hook input priority 0; }"
        for command in ("add table ip lost", chain, "add rule ip lost requests udp dport 67 counter drop"):
            self._namespace.run("nft", command)

    def lost_requests(self) -> int:
        """How many have been dropped."""
        [packets] = re.findall(r"counter packets (\d+)", self._namespace.run("nft", "list table ip lost"))
        return int(packets)

    def receive_requests(self) -> None:
        """End that."""
        self._namespace.run("nft", "delete table ip lost")

    def publish(self, path: str, text: str) -> None:
        """Have a file on its web server."""
        file = self._folder / "www" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def serve_crowd(self, crowd: int) -> None:
        """Answer HTTP on port 8080 with its name, once so many wait for it; and echo on UDP port 7."""
        program = Path(__file__).with_name("camera_program.py")
        self._namespace.start("python3", str(program), self.name, str(crowd))

    def emulate(self, driver: str, *options: str) -> None:
        """Answer as a camera of a maker does, at its ports; returns once it does. Options as
        `python -m wifimgrd.simulator.emulators` has them. It records until `stop_emulating`."""
        port = {"gopro": 8080, "insta360": 6666}[driver]
        self._namespace.end("busybox")  # the emulator has port 80, too
        program = ("python3", "-m", "wifimgrd.simulator.emulators", driver)
        listen = ("--listen", f"{self.address}:{port}", "--listen-http", f"{self.address}:80")
        self._namespace.start(*program, *listen, *options, known_as="emulator")
        poll_until(lambda: self.log("emulator").count("listening on") == 2, f"the emulated {self.name}", 30)

    def stop_emulating(self) -> None:
        """Let what answers die, and forget what it recorded."""
        self._namespace.end("emulator", signal.SIGKILL)

    def refuse(self, refusal: Refusal = "full") -> None:
        """Turn away every station that comes from now on; those that have joined stay."""
        self.refusal = refusal
        self._hostapd_cli("set", *refusing(refusal))

    def keep_away(self, seconds: int) -> None:
        """Have stations that are refused for their weak signal keep away for so long."""
        self._hostapd_cli("set", "rssi_reject_assoc_timeout", str(seconds))

    def admit(self) -> None:
        """End a refusal."""
        if self.refusal:
            self._hostapd_cli("set", *admitting(self.refusal))
        self.refusal = None

    def stations(self) -> list[str]:
        """Give the permanent addresses of the stations that are joined now.

        One that gave up after it was authenticated takes no place and is not among them; hostapd lists it
        until it cleans up.
        """
        listed = self._hostapd_cli("list_sta").split()
        return [station for station in listed if "[ASSOC]" in self._hostapd_cli("sta", station)]

    def joins(self) -> list[str]:
        """Give the address of each station that joined since it was switched on, once per join, in order."""
        lines = self.log("hostapd").splitlines()
        return [line.split()[-1] for line in lines if "AP-STA-CONNECTED" in line]

    def log(self, program: str) -> str:
        """Read what its hostapd (since it was switched on), dnsmasq or busybox (web server) has said."""
        return self._namespace.log_of(program).read_text(errors="replace")

    @property
    def _channels(self) -> hwsim.Channels:
        return "all" if self.network.channel > 11 else "short"  # the short list's 5 GHz is for stations only

    @property
    def _control(self) -> Path:
        return self._folder / "control"

    def _beacons(self) -> bool:
        if not self._namespace.runs("hostapd"):
            raise RuntimeError(f"camera {self.name}: hostapd ended: {self.log('hostapd')}")
        return "AP-ENABLED" in self.log("hostapd")

    def _hostapd_cli(self, *command: str) -> str:
        return self._namespace.run("hostapd_cli", "-p", str(self._control), "-i", _INTERFACE, "--", *command)
