"""How long the daemon may take for a command at most, in seconds: the parts, each of which it keeps to, and
their sums, by which its clients wait.

A command that is late says nothing of the daemon: whether that answers, its clients ask it by a ping.
"""

from __future__ import annotations

from typing import Final

from wifimgrd.domain.camera import COMMAND_OF_MANY_S

# -- the parts

AUTHORIZATION_S: Final = 20.0
"""polkit decides."""
NAME_S: Final = 2.0
"""The name of a user is looked up, which a directory service may be asked for."""
DIALOGUE_S: Final = 120.0
"""A user enters a password."""
DISK_S: Final = 15.0
"""A change is written. That has no limit of its own, since it is not given up."""
ATTEMPT_END_S: Final = 10.0
"""An attempt that was cancelled ends, or an earlier disconnect does."""
LEAVE_S: Final = 10.0
"""The backend takes a link down."""
GIVE_WAY_S: Final = 2.0
"""A search for a lost camera ends, since a scan needs its adapter."""
LOST_SEARCH_S: Final = 20.0
"""A search for a lost camera, or a scan for evidence, ends by itself."""
SCAN_S: Final = 15.0
"""An adapter scans all channels, which takes up to some 10 s."""
PAIRING_S: Final = 60.0
"""A camera is paired, with the search for it."""
BLUETOOTH_S: Final = 25.0
"""The camera process does something over Bluetooth that is short."""
STEP_S: Final = 30.0
"""A recovery step is carried out on an idle adapter, with the return of one that was replugged."""
PORT_S: Final = 60.0
"""The power of a USB port is switched off and on, with the return of the adapter."""
REBOOT_S: Final = 120.0
"""A camera reboots, until its network is on the air."""
RESULT_S: Final = 60.0
"""A camera is seen to answer, or not, once it is connected again."""
LINK_STEP_S: Final = 900.0
"""The longest recovery step for a dead link, with an attempt and its result: it is ended then."""
LONGEST_ATTEMPT_S: Final = 600.0
"""The largest `[connect] timeout_s`."""
LONGEST_WAKE_S: Final = 300.0
"""The largest `wake_timeout_s` of a model."""

# -- their sums

RELEASE_S: Final = ATTEMPT_END_S + LEAVE_S
"""An adapter becomes free."""
ANSWER_S: Final = AUTHORIZATION_S + NAME_S + DISK_S
"""A command that needs nothing but the daemon itself, and its disk."""
CONNECT_S: Final = ANSWER_S + RELEASE_S + RELEASE_S
"""Connect, without the attempt: a group's command frees an adapter for the device, and then an automatic
attempt ends for it."""
GROUP_S: Final = CONNECT_S + LONGEST_WAKE_S + LONGEST_ATTEMPT_S
"""ConnectGroup, with the attempts."""
REMOVE_S: Final = ANSWER_S + RELEASE_S
"""A device is disconnected and removed."""
CREATE_S: Final = ANSWER_S + BLUETOOTH_S + PAIRING_S + BLUETOOTH_S + RELEASE_S
"""A device is registered: the host's Bluetooth is looked at, its camera is paired, and forgotten where that
fails; an automatic attempt ends for its first one."""
SEARCH_S: Final = ANSWER_S + LOST_SEARCH_S + GIVE_WAY_S + SCAN_S
"""Networks are searched for, once a search for a lost camera that has given way before has ended."""
RECOVERY_S: Final = ANSWER_S + max(STEP_S, PORT_S)
"""A recovery step is carried out by a command."""
RECOVER_S: Final = ANSWER_S + BLUETOOTH_S + LINK_STEP_S
"""Recover, with the step."""
RECORD_S: Final = ANSWER_S + COMMAND_OF_MANY_S
"""Several cameras are commanded."""
OPERATION_S: Final = ANSWER_S + BLUETOOTH_S + BLUETOOTH_S
"""An operation begins, or one ends that is short: the host's Bluetooth is looked at, a bond is removed. One
that is waited for may take so much longer."""
