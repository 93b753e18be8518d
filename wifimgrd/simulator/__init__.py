"""A world of adapters and cameras in memory, for the demo, the fast tests and the benchmarks.

`SimulatedWorld(scenario, memory)` has six views, `backend`, `adapters`, `sockets`, `contact`, `bluetooth` and
`evidence`, which the manager uses as its ports, and methods that change the world while it runs (those of
`org.wifimgrd1.Simulator`). `load_scenario(path)` reads its initial state; `parts` makes all for the daemon.

Every camera has the address 192.168.42.1 and leases 192.168.42.10 first, so that two links differ only in
their interfaces, as with cameras of one manufacturer. A camera accepts any number of hosts unless it
`refuses`. When a camera is switched off orderly, its links are interrupted at once, when its power is cut,
after `silence_s`; they are restored if the camera comes back, and end after `give_up_s`. Links are stored in
the memory, one key per interface, and adopted after a restart if the scenario has the camera switched on.
Bonds are stored there, too. Everything else starts from the scenario each time.

A camera with a `driver` is served by one of the `emulators`: `sockets` opens connections to its TCP ports
while its link is up, each a pair of sockets of this process. They are closed when the link is interrupted or
ends. A camera that is switched off ends its recording, one that is out of range goes on.

A camera with `bluetooth` behaves like a GoPro, an Insta360 or a Theta, also when it is woken: it advertises
while it is on or asleep, and can be paired in `pairing_mode`.

Faults (`set_fault(kind, options)`; every one takes `off: true`, which lifts it):

- `dhcp-dead` (`ssid`, else all): joins end in AddressFailed after `dhcp_s`
- `bluetooth-off`: this host's Bluetooth adapter is off
- `bond-lost` (`ssid`, else all): cameras have forgotten this hub, until they are paired again; they say so
- `radio-trouble` (`connections`, else until `off`; `ssid`, else all): so many connections over Bluetooth end
  at once, as when first packets are lost; each operation tries six
- `out-of-range` (`ssid`, else all): cameras are received neither over Wi-Fi nor over Bluetooth
- `refuse-association` (`ssid`, else all): joins end in AssociationRefused
- `slow-join` (`seconds`, default 5; `ssid`, else all): joins take that long, within their time limit
- `slow-leave` (`seconds`, default 5; `interface`, else all): leaving takes that long
- `scan-fails` (`interface`, else all): joins end in DeviceNotReachable after a scan
- `adapter-stuck` (`interface`; `heals`, default `restart`; `crashed`): it neither joins nor receives, until
  the recovery step that heals it, or until it is replugged by hand; where it `crashed`, its driver reports it
- `dead-link` (`ssid`, else all; `heals`, default `rejoin`): links that are up stay so, and nothing passes
  until that LinkStep or a stronger one is taken; only through the adapter where one of its steps heals
- `dead-service` (`ssid`, else all; `heals`, default `reboot-camera`): cameras answer ARP only
- `dead-firmware` (`interface`; `heals`, default `reset-port`): an adapter receives nothing; its link stays up
- `no-power-switching` (`interface`, else all): switching the power of its port loses an adapter until it is
  plugged in by hand
- `wifi-off` (`ssid`, else all): cameras switch their Wi-Fi off, and go on with what they do
- `signal` (`ssid`, `percent`): another signal strength
- `silent` (`ssid`, else all): cameras stay joined and answer neither probes nor connections
- `battery`, `card-full`, `card-missing`, `card-slow`, `clock-kept`, `clock-off`, `clock-zone`,
  `command-unanswered`, `control-garbage`, `control-silent`, `paused`, `refuses-recording`,
  `stops-recording`, `takes-photos`, `time-lapse`, `too-hot` (`ssid`, else all): see `_camera_faults.py`
- `rfkill` (`interface`; `hard`): blocks a radio, whose link or attempt ends in InterfaceLost
- `backend-gone` (`seconds`, else until `off`): UNAVAILABLE; links end in ConnectionLost, joins in
  BackendUnavailable

A fault that is set for all can be lifted for one camera or interface.

No room imports it: the daemon loads it by its name, and a hub on adapters does not have it.

Used by: no other room.
Imports: `camera`, `config`, `daemon`, `domain`, `runtime`.
"""

from wifimgrd.simulator._adapters import SimulatedAdapters
from wifimgrd.simulator._backend import SimulatedBackend
from wifimgrd.simulator._parts import parts
from wifimgrd.simulator._scenario import (
    AdapterPlan,
    CameraPlan,
    Scenario,
    ScenarioError,
    Security,
    Times,
    load_scenario,
    parse_scenario,
)
from wifimgrd.simulator._world import SimulatedWorld

__all__ = [
    "AdapterPlan",
    "CameraPlan",
    "Scenario",
    "ScenarioError",
    "Security",
    "SimulatedAdapters",
    "SimulatedBackend",
    "SimulatedWorld",
    "Times",
    "load_scenario",
    "parse_scenario",
    "parts",
]
