"""The tables of nftables that carry out a plan: changed in one transaction, read back, compared, removed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.helper._contents import Contents, addresses, filters, filters_trial, transaction
from wifimgrd.helper._plan import Camera
from wifimgrd.helper._ruleset import OPENED, TABLE_NAME
from wifimgrd.kernel.nftables import Nftables, NftablesError

_log = structlog.get_logger()

_UNKNOWN: Final = -1
_READS: Final = 3
"""How often the tables are made anew where programs keep changing nftables."""


class Tables:
    """The table of family ip, and beside it the one of family netdev, where the kernel has such tables."""

    def __init__(self, nftables: Nftables) -> None:
        """`nftables` is closed by `close`."""
        self._nftables = nftables
        self._there: Contents | None = None
        """The contents of the tables; None if they are not known."""
        self._listing: str | None = ""
        """The tables as read back after the last change; None while that is still to be done."""
        self._generation = 0
        """The number of the last transaction after the tables were changed."""
        self._is_doubted = False
        """Whether they may have changed without a transaction."""
        self._runs = 0
        """How many transactions were carried out."""
        self._has_filters = True
        """False where the kernel has no tables of family netdev."""
        self._is_filtered = False
        """Whether there is such a table."""

    @property
    def port(self) -> int:
        """The netlink port that its changes come from."""
        return self._nftables.port

    def opened(self) -> str:
        """The set of interfaces that forwarding was switched on for, as listed; raises NftablesError."""
        return self._nftables.run(f"list set ip {TABLE_NAME} {OPENED}")

    def change(self, wanted: Contents) -> None:
        """Make both tables contain this, by what differs. All of it is written where it is not known what is
        there: at first, after a transaction that was refused, and where another program may have changed the
        tables. Raises NftablesError."""
        before, runs = self._nftables.generation(), self._runs
        there = self._there if before == self._generation or self._are_as_read() else None
        if not self._has_filters:
            wanted = replace(wanted, filtered=())
        self._there, self._listing, self._generation = None, None, _UNKNOWN
        if there is not None and self._is_done(transaction(there, wanted)):
            self._there = wanted
            self._generation = before + self._runs - runs  # if no other program came between
            return
        self._there = self._write(wanted)
        after = self._nftables.generation()
        # Where another program came between, the tables are not what they were taken for: see `read_back`.
        self._generation = after if after - before <= self._runs - runs else before

    def read_back(self, wanted: Callable[[], Contents]) -> None:
        """Read the tables after a change, to compare them later; nobody waits for that, as it takes longer
        than the change. If any program has changed nftables meanwhile, they are made anew first: what is read
        could be its work. Raises NftablesError."""
        for _ in range(_READS):
            if self._listing is not None:
                return
            listing = self._list()
            if self._nftables.generation() == self._generation:
                self._listing = listing
                return
            self.forget()
            self.change(wanted())
        self._listing = ""  # which counts as changed

    def are_as_written(self) -> bool:
        """Whether they are as they were read back. Where there was no transaction since the last change they
        are not read again: that takes longer the more cameras there are. Raises NftablesError."""
        generation = self._nftables.generation()
        if self._listing and generation == self._generation and not self._is_doubted:
            return True
        is_same = self._are_as_read()
        if is_same:  # a transaction after that may not be in the listing
            self._generation, self._is_doubted = generation, False
        return is_same

    def doubt(self) -> None:
        """Read the tables at the next check, also where there was no transaction: with an interface, the
        kernel deletes its chain."""
        self._is_doubted = True

    def forget(self) -> None:
        """Assume nothing about the tables: the next change writes all."""
        self._there = None

    def remove(self) -> None:
        """Delete them, also those of an earlier run; raises NftablesError."""
        self._there, self._listing, self._is_filtered = None, "", False
        self._run(f"table ip {TABLE_NAME} {{}}; delete table ip {TABLE_NAME}")
        with suppress(NftablesError):  # where the kernel has no such tables, there is none
            self._run(f"table netdev {TABLE_NAME} {{}}; delete table netdev {TABLE_NAME}")

    def close(self) -> None:
        """Free the resources of this process; the tables stay."""
        self._nftables.close()

    def _are_as_read(self) -> bool:
        """The first may have been deleted while it was applied."""
        return bool(self._listing) and self._list() == self._listing

    def _run(self, commands: str) -> None:
        if commands:
            self._nftables.run(commands)
            self._runs += 1

    def _is_done(self, commands: str) -> bool:
        try:
            self._run(commands)
        except NftablesError as error:
            _log.debug("tables_not_changed_together", reason=str(error))
            return False
        return True

    def _write(self, wanted: Contents) -> Contents | None:
        """Write all; returns what is there then. An interface that the kernel refuses, as one that has just
        gone, is left out of the filters, and tried again with the next plan."""
        self._is_doubted = False
        if self._has_filters and self._is_done(transaction(None, wanted)):
            self._is_filtered = True
            return wanted
        self._run(addresses(wanted))  # one by one, it shows which one is refused
        if self._has_filters:
            self._has_filters = not self._refusal_of()
        if not self._has_filters:
            return replace(wanted, filtered=())
        filtered = tuple(one for one in wanted.filtered if not self._refusal_of(one))
        if not self._is_done(filters(filtered)):  # one has gone meanwhile: the table is as it was before
            _log.warning("link_layer_unchanged")
            return None
        self._is_filtered = True
        return replace(wanted, filtered=filtered)

    def _refusal_of(self, *cameras: Camera) -> str:
        """Why the kernel has no netdev table for these cameras; empty where it has."""
        try:
            self._run(filters_trial(cameras))
        except NftablesError as error:
            _log.warning(
                "link_layer_open", interfaces=[one.interface for one in cameras] or "all", reason=str(error)
            )
            return str(error)
        return ""

    def _list(self) -> str:
        try:
            listing = self._nftables.run(f"list table ip {TABLE_NAME}")
            if self._is_filtered:
                listing += self._nftables.run(f"list table netdev {TABLE_NAME}")
        except NftablesError:
            return ""
        return listing
