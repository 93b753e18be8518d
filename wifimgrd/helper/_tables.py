"""The tables of nftables that carry out a plan: changed in one transaction, read back, compared, removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.helper._plan import Camera
from wifimgrd.helper._ruleset import OPENED, TABLE_NAME, link_layer, link_layer_trial
from wifimgrd.kernel.nftables import Nftables, NftablesError

_log = structlog.get_logger()

_READS: Final = 3
"""How often the tables are made anew where programs keep changing nftables."""


class Tables:
    """The table of family ip, and beside it the one of family netdev, where the kernel has such tables."""

    def __init__(self) -> None:
        self._nftables = Nftables()
        self._listing: str | None = ""
        """The tables as read back after the last change; None while that is still to be done."""
        self._generation = 0
        """The number of the last transaction after the tables were changed."""
        self._link_layer = ""
        """The netdev table that was applied."""
        self._has_link_layer = True
        """False where the kernel has no tables of family netdev."""

    @property
    def port(self) -> int:
        """The netlink port that its changes come from."""
        return self._nftables.port

    def opened(self) -> str:
        """The set of interfaces that forwarding was switched on for, as listed; raises NftablesError."""
        return self._nftables.run(f"list set ip {TABLE_NAME} {OPENED}")

    def change(self, cameras: Sequence[Camera], commands: str) -> None:
        """Carry out the commands for the table of family ip, and those for the netdev table, together if the
        kernel takes these. Raises NftablesError."""
        self._listing = None
        wanted = link_layer(cameras)
        is_done = self._has_link_layer and wanted != self._link_layer and self._run_together(commands, wanted)
        if not is_done:
            self._nftables.run(commands)
            self._limit_link_layer(cameras)
        self._generation = self._nftables.generation()

    def read_back(self, cameras: Sequence[Camera], commands: Callable[[], str]) -> None:
        """Read the tables after a change, to compare them later; nobody waits for that, as it takes longer
        than the change. If any program has changed nftables meanwhile, they are made anew first, by the
        commands for all of the table of family ip: what is read could be its work. Raises NftablesError."""
        for _ in range(_READS):
            if self._listing is not None:
                return
            listing = self._list()
            if self._nftables.generation() == self._generation:
                self._listing = listing
                return
            self._link_layer = ""
            self.change(cameras, commands())
        self._listing = ""  # which counts as changed

    def are_as_read(self) -> bool:
        """Whether they are as they were read back; the first may have been deleted while it was applied."""
        return bool(self._listing) and self._list() == self._listing

    def forget(self) -> None:
        """Assume nothing about the netdev table."""
        self._link_layer = ""

    def remove(self) -> None:
        """Delete them, also those of an earlier run; raises NftablesError."""
        self._listing = ""
        self._nftables.run(f"table ip {TABLE_NAME} {{}}; delete table ip {TABLE_NAME}")
        with suppress(NftablesError):  # where the kernel has no such tables, there is none
            self._nftables.run(f"table netdev {TABLE_NAME} {{}}; delete table netdev {TABLE_NAME}")

    def close(self) -> None:
        """Free the resources of this process; the tables stay."""
        self._nftables.close()

    def _run_together(self, commands: str, wanted: str) -> bool:
        try:
            self._nftables.run(f"{commands}\n{wanted}")
        except NftablesError as error:  # one by one, it shows which one is refused
            _log.debug("tables_not_set_together", reason=str(error))
            return False
        self._link_layer = wanted
        return True

    def _limit_link_layer(self, cameras: Sequence[Camera]) -> None:
        """Apply the netdev table. An interface that the kernel refuses, as one that has just gone, is left
        out, and tried again with the next plan."""
        wanted = link_layer(cameras)
        if not self._has_link_layer or wanted == self._link_layer:
            return
        try:
            self._nftables.run(wanted)
        except NftablesError:
            self._has_link_layer = not self._refusal_of()
            wanted = self._limit_link_layer_of_some(cameras) if self._has_link_layer else ""
        self._link_layer = wanted

    def _limit_link_layer_of_some(self, cameras: Sequence[Camera]) -> str:
        wanted = link_layer([one for one in cameras if not self._refusal_of(one)])
        try:
            self._nftables.run(wanted)
        except NftablesError as error:  # one has gone meanwhile: the table is as it was before
            _log.warning("link_layer_unchanged", reason=str(error))
            return ""
        return wanted

    def _refusal_of(self, *cameras: Camera) -> str:
        """Why the kernel has no netdev table for these cameras; empty where it has."""
        try:
            self._nftables.run(link_layer_trial(cameras))
        except NftablesError as error:
            _log.warning(
                "link_layer_open", interfaces=[one.interface for one in cameras] or "all", reason=str(error)
            )
            return str(error)
        return ""

    def _list(self) -> str:
        try:
            listing = self._nftables.run(f"list table ip {TABLE_NAME}")
            if self._link_layer:
                listing += self._nftables.run(f"list table netdev {TABLE_NAME}")
        except NftablesError:
            return ""
        return listing
