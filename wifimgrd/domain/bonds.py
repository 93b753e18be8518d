"""Which Bluetooth bonds of this host are the hub's: a bond is that of one adapter with one camera."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

UNKNOWN: Final = ""
"""In place of an adapter's address: an earlier version wrote that the hub had made a bond, but not where."""


@dataclass(frozen=True, slots=True)
class HostBonds:
    """Where this host has a bond with a camera, by whomever it was made; addresses of adapters."""

    bonded: frozenset[str] = frozenset()
    adapters: frozenset[str] = frozenset()
    """All that are there now."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Which of a camera's bonds are the hub's; addresses of adapters."""

    own: frozenset[str] = frozenset()
    """UNKNOWN may be among them."""
    without: frozenset[str] = frozenset()
    """The adapters that were found without the bond at UNKNOWN: one that they have later is another's."""

    @classmethod
    def of(cls, rows: Iterable[tuple[str, bool]]) -> Claim:
        """The claim with these `rows`."""
        own, without = set[str](), set[str]()
        for adapter, is_own in rows:
            (own if is_own else without).add(adapter)
        return cls(frozenset(own), frozenset(without))

    def rows(self) -> Iterator[tuple[str, bool]]:
        """Each adapter, and whether the bond there is the hub's."""
        yield from ((adapter, True) for adapter in sorted(self.own))
        yield from ((adapter, False) for adapter in sorted(self.without))

    @property
    def placed(self) -> frozenset[str]:
        """The adapters whose bond is the hub's, as far as they are known."""
        return self.own - {UNKNOWN}

    def plus(self, adapters: Iterable[str]) -> Claim:
        """As this one, with the bonds at adapters."""
        return replace(self, own=self.own | frozenset(adapters))

    def minus(self, adapter: str) -> Claim:
        """As this one, without the bond at an adapter."""
        return replace(self, own=self.own - {adapter})

    def seen(self, host: HostBonds) -> Claim:
        """The claim after a look at the host. An adapter that is not there says nothing about its bonds; one
        that is there without a bond has none of the hub's."""
        own = self.own - (host.adapters - host.bonded)
        if UNKNOWN not in own:
            return Claim(own)
        if found := host.bonded - self.without - own:
            return Claim((own | found) - {UNKNOWN})
        return Claim(own, self.without | host.adapters)
