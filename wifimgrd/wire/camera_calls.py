"""The calls of the daemon to the camera process, and what that process tells it.

It answers only the daemon's user; others get NotAuthorized. Each call may fail with InvalidArguments
and Failed, too.

Over Bluetooth LE: each operation ends within its own time, and when the caller's connection to the bus
ends. There is one operation at a time for each camera; a second one gets Busy. An address is that of a
Bluetooth device, such as `D4:32:60:12:34:56`. A protocol is `gopro` or `theta`.

Over a camera's network: the process has none, and opens no socket. It says which connection it wants
(SOCKET_WANTED), and the daemon, which has it opened for a camera that is connected, passes it in
(GIVE_SOCKET). A device is the number of its record. The process does not exit while a camera is
attached.
"""

from __future__ import annotations

from typing import Final

from wifimgrd.wire.private_calls import PrivateInterface, member

BUS_NAME: Final = "org.wifimgrd1.Cameras"
"""Of the process, and the name of its interface."""
PATH: Final = "/org/wifimgrd1/cameras"
GET_STATUS: Final = member("GetStatus").returning(state="s", reason="s")
"""Whether Bluetooth can be used.

state: `ready`, `off` or `absent`.
reason: a sentence; empty if it is ready."""
SEARCH: Final = member("Search", search="s", seconds="u", targets="a(ss)")
"""Search for cameras, and return at the end. ADVERTISED reports them meanwhile. Searches at the same time
share one discovery, which lasts as long as one of them. A search ends early when a beacon begins, and
waits for the end of one that runs.

search: any text of 1 to 64 characters, by which CANCEL ends it.
seconds: 1 to 60.
targets: 1 to 32. A device is reported if it offers the service of one of them, or if the regular
  expression of one matches its whole name. A service is a UUID, or its 16 bits in hexadecimal. Either
  may be empty.
Errors: BluetoothUnavailable, Busy if one with this text runs, Cancelled."""
WAKE: Final = member("Wake", address="s", protocol="s", beacon="ay", timeout_s="u")
"""Wake a camera and switch its access point on. It returns once the camera says that the access point is
on. The camera then stays connected and awake until RELEASE or CANCEL, or for 60 s.

With the protocol `beacon` this host advertises instead, until CANCEL or for timeout_s, and then
returns.

address: the camera's; for a beacon any text of 1 to 64 characters.
protocol: as above, or `beacon`.
beacon: the advertisement's manufacturer data: the company's number in two bytes, little endian, and at
  most 24 further bytes.
timeout_s: 1 to 300.
Errors: NotPaired, WakeFailed, BluetoothUnavailable, Busy, Cancelled."""
RESTART_ACCESS_POINT: Final = member("RestartAccessPoint", address="s", protocol="s")
"""Switch a camera's access point off and on. It returns once the camera says that it is on. A camera that is
kept awake by WAKE stays so. Another one is connected with for this only, and is asked first whether it
records.

Errors: NotSupported for a camera that does not do it, NotPaired, CameraBusy while it records, WakeFailed if
it is not reached or does not say whether it records, BluetoothUnavailable, Busy, Cancelled."""
REBOOT: Final = member("Reboot", address="s", protocol="s")
"""Reboot a camera, over a connection for it. It returns once the camera has accepted that, or has ended the
connection.

Errors: NotSupported for a camera that does not do it, NotPaired, CameraBusy while it records, WakeFailed if
it is not reached, refuses, or does not say whether it records, BluetoothUnavailable, Busy, Cancelled."""
SLEEP: Final = member("Sleep", address="s", protocol="s")
"""Put a camera to sleep.

Errors: NotPaired, CameraBusy while it records, WakeFailed if it is not reached, BluetoothUnavailable,
Busy, Cancelled."""
COMMAND: Final = member("Command", address="s", protocol="s", command="s").returning(
    result="a{sv}", reading="a{sv}"
)
"""Have a camera that is paired carry out a command, over a connection for it. A connection wakes a camera
that sleeps: the caller has heard that it is on. It returns once the camera has answered and was seen to
do it, within 7 s, and disconnects.

protocol: one whose cameras take commands: `gopro`.
command: `start-recording`, `stop-recording` or `set-clock`.
result: as one of RECORD, without `device`.
reading: what the camera has said meanwhile, as in CAMERA_READ; without `read_us` it has said nothing.
Errors: NotPaired, DeviceNotReachable, BluetoothUnavailable, Busy, Cancelled."""
PAIR: Final = member("Pair", address="s", protocol="s", own="as").returning(camera="a{sv}")
"""Pair with a camera that is in its pairing mode, read its credentials, and switch its access point on,
within 60 s. It then stays awake as after WAKE. A bond that this host has already is used; only one that
the daemon has had made, and that the camera has provably lost, is replaced. If it fails, a new bond is
removed again. A device that is not such a camera, or that has an input, audio or network service, too,
is refused before it is paired; a link that was there before stays.

own: the addresses of the adapters whose bond with the camera the daemon has had made.
camera: `ssid` (ay), `password` (s), `model` (s), `serial` (s); password, model and serial are empty if
  the camera does not tell them.
Errors: PairingFailed, BluetoothUnavailable, Busy, Cancelled."""
UNPAIR: Final = member("Unpair", address="s", adapter="s")
"""Remove a camera's bond and keys from an adapter of this host; without a bond nothing happens. An
operation with the camera is cancelled. The daemon calls it only for bonds that it has had made.

adapter: the address of the adapter that has the bond.
Errors: BluetoothUnavailable, also as GET_BONDS, and if that adapter is not there."""
CANCEL: Final = member("Cancel", address="s")
"""Cancel the operation with a camera, a beacon or a search, and disconnect. It returns once that has
ended.

address: as that of WAKE or SEARCH; if nothing runs there, nothing happens."""
RELEASE: Final = member("Release", address="s")
"""Disconnect from a camera that is kept awake; it returns at once."""
END_LINKS: Final = member("EndLinks", links="ao")
"""Disconnect from cameras that a process before this one had connected, as it had said by LINKS_CHANGED,
and that has ended without that. Where an operation runs with one, it is disconnected after that.

links: BlueZ's object paths, as in LINKS_CHANGED."""
GET_BONDS: Final = member("GetBonds", address="s").returning(bonded="as", adapters="as")
"""At which adapters this host has a bond with a camera, by whomever it was made, once an operation with
the camera that was cancelled has ended.

bonded: the addresses of these adapters.
adapters: those of all adapters that are there; of another one it is not known whether it has a bond.
Errors: BluetoothUnavailable if nothing is known: bluetoothd does not run, does not answer, or has no
adapter."""
ATTACH: Final = member("Attach", device="t", driver="s")
"""A camera is connected: read its state from now on. CAMERA_READ reports it. A repeat changes nothing;
another driver replaces the first one. All cameras are detached when the caller's connection to the bus
ends.

device: at most 256 are attached.
driver: one of CameraDriver."""
DETACH: Final = member("Detach", device="t")
"""A camera is no longer connected. Its commands end with NotConnected, and its connections are closed. If
it is not attached, nothing happens."""
RECORD: Final = member("Record", devices="at", on="b").returning(results="aa{sv}")
"""Start or stop recording on cameras. All requests are prepared first, then sent together. It returns once
each camera has answered: within 10 s for one, within 15 s for several.

devices: at most 256.
results: one for each: `device` (t), `after` (t: microseconds from the request to the camera's answer; 0
  without an answer), `code` (s: a public error code; empty if it is done), `message` (s)."""
SET_CLOCK: Final = member("SetClock", device="t")
"""Set the clock of an attached camera to this host's.

Errors: CameraRefused, CameraBusy, DeviceNotReachable, NotConnected, NotSupported, BackendUnavailable."""
REGISTER_HOST: Final = member("RegisterHost", device="t").returning(name="s")
"""Register this host with an attached camera, so that it takes commands over Bluetooth of this host, and
switch its Bluetooth on.

name: what the camera advertises.
Errors: CameraRefused, DeviceNotReachable, NotConnected, NotSupported, BackendUnavailable."""
RECORDED_FILES: Final = member("RecordedFiles", device="t", began="t", ended="t").returning(
    known="b", files="a(sx)"
)
"""Find the files of a recording that has ended, on an attached camera that is idle. A command to the camera
ends it.

began, ended: microseconds since the epoch, by the host's clock as it goes now.
known: false if it is not certain which files these are.
files: in the order in which they were written, at most 64: the path on the camera, at most 255 printable
  characters, and the size in bytes; -1 = not known.
Errors: CameraBusy if it records, has not finished the files, or is commanded, DeviceNotReachable,
NotConnected, BackendUnavailable."""
GIVE_SOCKET: Final = member("GiveSocket", serial="t", socket="h")
"""The connection that SOCKET_WANTED asked for, which the process closes.

Errors: InvalidArguments if nobody waits for it; the connection is closed then."""
REFUSE_SOCKET: Final = member("RefuseSocket", serial="t", code="s", message="s")
"""The connection that SOCKET_WANTED asked for cannot be opened.

code: a public error code, or `port-refused` if the camera refuses connections at that port.
Errors: InvalidArguments if nobody waits for it."""
SOCKET_WANTED: Final = member("SocketWanted", serial="t", device="t", port="q")
"""The process wants a TCP connection to a port of an attached camera, within 10 s. It waits for at most
256 at a time, and for 4 to one camera.

serial: the request's, for GIVE_SOCKET or REFUSE_SOCKET."""
CAMERA_READ: Final = member("CameraRead", device="t", reading="a{sv}")
"""The state of an attached camera was read, at most every 0.25 s for each.

reading: all that is known now, as `camera_readings` has it; what is not known is left out."""
UNFIT: Final = member("Unfit", address="s", reason="s")
"""A camera that this host has a bond with has an input, audio or network service, too, as it has told in
an operation, which fails, or while it was kept awake. It was disconnected, unless the link was there
before.

reason: a sentence."""
BONDING: Final = member("Bonding", address="s", adapter="s")
"""BlueZ is asked now, for PAIR, to bond with a camera: a bond that the adapter has with it from now on was
made for the daemon.

adapter: its address."""
LINKS_CHANGED: Final = member("LinksChanged", links="ao")
"""Which cameras the process has connected over Bluetooth has changed; connections that were there before
are not its own.

links: BlueZ's object paths of these cameras, each with its adapter."""
ADVERTISED: Final = member("Advertised", devices="aa{sv}")
"""Devices were heard, at most every 0.25 s. Nothing that they say is proven: anybody can advertise any of
it.

devices: at most 64: `address` (s), `name` (s), `service` (s: that of the target, or empty), `rssi` (n:
  dBm), `power_state` (s: `asleep`, `awake`, or empty), `serial` (s: all of it or its end, or empty),
  `paired` (b), and if the device tells it `access_point` (b: on), `pairing_mode` (b), `model_id` (y:
  the maker's number of its model). A search remembers at most 256."""
STATUS_CHANGED: Final = member("StatusChanged", state="s", reason="s")
"""The reply of GET_STATUS has changed."""

INTERFACE: Final = PrivateInterface(
    BUS_NAME,
    PATH,
    methods=(
        *(GET_STATUS, SEARCH, WAKE, RESTART_ACCESS_POINT, REBOOT, SLEEP, COMMAND, PAIR, UNPAIR),
        *(CANCEL, RELEASE, END_LINKS, GET_BONDS),
        *(ATTACH, DETACH, RECORD, SET_CLOCK, REGISTER_HOST, RECORDED_FILES),
        *(GIVE_SOCKET, REFUSE_SOCKET),
    ),
    signals=(SOCKET_WANTED, CAMERA_READ, UNFIT, BONDING, LINKS_CHANGED, ADVERTISED, STATUS_CHANGED),
)
