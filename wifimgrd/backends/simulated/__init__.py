"""A world of adapters and cameras in memory, for the demo, the fast tests and the benchmarks.

`SimulatedWorld(scenario, memory)` has three views, `backend`, `adapters` and `sockets`, which the manager
takes as its backend, its adapter source and its way to cameras, and methods that change the world while it
runs (those of `org.wifimgrd1.Simulator`). `load_scenario(path)` reads what it starts with.

Every camera claims 192.168.42.1 and hands out 192.168.42.10 first, so that two links look alike
but for their interfaces, as with cameras of one make. A camera takes any number of hosts unless it
`refuses`. A camera that is switched off orderly is missed at once, one whose power is cut after
`silence_s`; the link is interrupted then, restored where the camera comes back, and ended after
`give_up_s`. Links are noted in the memory, one key per interface, and found again after a restart
where the scenario has the camera switched on. All else starts from the scenario each time.

Faults (`set_fault(kind, options)`; every one takes `off: true`, which lifts it):

- `dhcp-dead` (`ssid`, else all): joins end in AddressFailed after `dhcp_s`
- `refuse-association` (`ssid`, else all): joins end in AssociationRefused
- `slow-join` (`seconds`, default 5; `ssid`, else all): joins take that long, within their time limit
- `slow-leave` (`seconds`, default 5; `interface`, else all): leaving takes that long
- `scan-fails` (`interface`, else all): joins end in DeviceNotReachable after a search
- `adapter-stuck` (`interface`; `heals`, default `restart`; `crashed`): it neither joins nor hears, until the
  step of the recovery ladder, or being plugged in anew by hand, that heals it; where it `crashed`, its driver
  tells of that
- `signal` (`ssid`, `percent`): another signal strength
- `silent` (`ssid`, else all): cameras stay joined and answer nothing
- `rfkill` (`interface`; `hard`): blocks an adapter, whose link or attempt ends in InterfaceLost
- `backend-gone` (`seconds`, else until `off`): UNAVAILABLE; links end in ConnectionLost, joins in
  BackendUnavailable

A fault that is lifted for one camera or interface while it lies on all spares that one.
"""

from wifimgrd.backends.simulated.adapters import SimulatedAdapters
from wifimgrd.backends.simulated.backend import SimulatedBackend
from wifimgrd.backends.simulated.scenario import (
    AdapterPlan,
    CameraPlan,
    Scenario,
    ScenarioError,
    Security,
    Times,
    load_scenario,
    parse_scenario,
)
from wifimgrd.backends.simulated.world import SimulatedWorld

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
]
