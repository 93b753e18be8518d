"""Small worlds of adapters, rules and claims, in which names, addresses and ports often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from wifimgrd.domain.adapter import Adapter, AdapterIdentity, AdapterPin, Band, Mode
from wifimgrd.domain.allocator import AllocationRules, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reservation import ReservationRule, reservations_of

NAMES = ["wlan0", "wlan1", "wlan2", "wlan10", "wlx02"]
MACS = ["02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"]
PORTS = ["1-1", "1-1.4", "2-1"]
SERIALS = ["A", "B"]
RADIOS = ["phy/0", "phy/1"]
DEVICES = [DeviceId(1), DeviceId(2), DeviceId(3)]
DEVICE_NAMES = {DeviceId(1): "one", DeviceId(2): "two", DeviceId(3): "three"}

names = st.sampled_from(NAMES)
device_ids = st.sampled_from(DEVICES)
band_sets = st.frozensets(st.sampled_from(Band), max_size=2)

identities = st.builds(
    AdapterIdentity,
    mac=st.sampled_from(["", *MACS]),
    usb_port=st.sampled_from(["", *PORTS]),
    usb_serial=st.sampled_from(["", *SERIALS]),
)
rfkills = st.sampled_from([*[""] * 8, "soft-blocked", "hard-blocked"])
troubles = st.sampled_from([*[""] * 5, "being recovered (rescan)"])
adapters = st.builds(
    Adapter,
    name=names,
    identity=identities,
    usb_vendor_id=st.sampled_from(["0bda", "0bda", "0bda", ""]),
    rfkill=rfkills,
    radio=st.sampled_from(["", *RADIOS]),
    index=st.integers(0, 2),
    mode=st.sampled_from([*[Mode.STATION] * 5, Mode.ACCESS_POINT, Mode.MONITOR]),
    is_active=st.sampled_from([False, False, False, True]),
)
facts = st.builds(
    BackendFacts,
    obstacle=st.sampled_from([*[""] * 4, "carrying a connection that is not ours"]),
    bands=band_sets,
)
pins = st.sampled_from([*map(AdapterPin, MACS), *(AdapterPin(usb_port=port) for port in PORTS)])
reservation_rules = st.builds(
    ReservationRule,
    device=device_ids | st.sampled_from([*DEVICE_NAMES.values(), DeviceId(9), "nobody"]),
    pin=pins,
)
reservations = st.builds(
    reservations_of,
    st.lists(reservation_rules, max_size=2),
    st.just(DEVICE_NAMES),
    st.dictionaries(device_ids, pins, max_size=2),
)
rules = st.builds(
    AllocationRules,
    usb_only=st.booleans(),
    exclude=st.sampled_from([(), (), (), ("wlx*",), ("eth?", "wlan1*")]),
    reservations=reservations,
)


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    """A device's request, as it may be stored."""
    return Claim(draw(device_ids), draw(st.none() | identities), draw(band_sets))
