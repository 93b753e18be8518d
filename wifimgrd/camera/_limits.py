"""How long each step may take: BlueZ answers some calls late or never."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds; tests have shorter ones."""

    connect_s: float = 45.0
    """BlueZ itself waits 40 s for the camera."""
    absent_s: float = 30.0
    """A Connect that failed after this has not heard the camera."""
    quick_s: float = 2.0
    """One that failed before this was refused by the camera, or lost its first packets."""
    services_s: float = 15.0
    characteristics_s: float = 5.0
    """They may appear after ServicesResolved."""
    find_s: float = 20.0
    hear_s: float = 3.0
    """How long a device that is heard is listened to, until what BlueZ says of it is what it says now."""
    pair_s: float = 30.0
    answer_s: float = 5.0
    """A camera's answer to a message."""
    boot_s: float = 20.0
    """From the connection until a camera that has slept accepts commands."""
    ask_again_s: float = 0.5
    access_point_s: float = 15.0
    pauses_s: tuple[float, ...] = (0.3, 0.5, 1.0, 2.0, 4.0)
    """Before each further Connect, e.g. when the kernel is still ending the last link."""
    command_pauses_s: tuple[float, ...] = (0.3, 0.5, 1.0, 2.0)
    """The same for a Command, which has less time."""
    pairing_s: float = 60.0
    """A whole Pair."""
    sleep_s: float = 60.0
    """A whole Sleep."""
    command_s: float = 7.0
    """A whole Command."""
    hold_s: float = 60.0
    """How long a camera is kept awake after it was woken."""
    report_s: float = 0.25
    """From one report of a search to the next."""
    late_s: float = 0.2
    """A call's own error says more than the end of the link, and comes after it."""
