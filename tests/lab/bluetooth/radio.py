"""The air between the kernel's emulated adapter and emulated cameras: Bumble's, changed where Linux needs it.

Bumble 0.0.236 emulates controllers for its own host. What is replaced here: ACL data named the random address
of a central that uses its public one; the scan response was the advertising data; a cancelled connection was
neither forgotten nor reported; a reset kept links and scans; a peer that had gone raised; duplicates were
reported to a host that does not want them.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from bumble import hci, ll
from bumble.controller import Controller
from bumble.core import PhysicalTransport
from bumble.link import LocalLink

_FAILED_TO_ESTABLISH = 0x3E
_STRANGER_S = 0.3
"""How long the link of a central seems to be up to which the camera does not answer: six intervals."""
_RSSI = -50
_DUPLICATES_S = 1.0
"""So long an advertisement is not reported again to a host that wants no duplicates."""
_UNSUPPORTED = (
    hci.LeFeatureMask.LE_EXTENDED_ADVERTISING
    | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
    | hci.LeFeatureMask.LL_PRIVACY
)
"""The adapter is one of Bluetooth 4.2, of which reports and connections are the legacy ones."""


class Air(LocalLink):  # type: ignore[misc]
    """What one radio sends and the others hear."""

    def __init__(self) -> None:
        super().__init__()
        self.latency_s = 0.0
        """How long a packet of a link takes, one way."""
        self.listeners: list[Callable[[bytes], None]] = []
        """What is called with the data of each advertisement of the host's adapter."""

    def send_advertising_pdu(self, sender_controller: Any, packet: Any) -> None:
        """An advertisement: to all other radios, and to the listeners if the host sends it."""
        if isinstance(packet, ll.AdvInd) and isinstance(sender_controller, HostRadio):
            for listener in self.listeners:
                listener(bytes(packet.data))
        super().send_advertising_pdu(sender_controller, packet)

    def send_acl_data(
        self, sender_controller: Any, destination_address: Any, transport: Any, data: bytes
    ) -> None:
        """Data of a link, under the address that the sender uses in it."""
        if transport != PhysicalTransport.LE:
            super().send_acl_data(sender_controller, destination_address, transport, data)
            return
        connection = sender_controller.le_connections.get(destination_address)
        receiver = self.find_le_controller(destination_address)
        if connection is None or receiver is None or receiver.hangs or sender_controller.hangs:
            return
        self._later(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_ll_control_pdu(self, sender_address: Any, receiver_address: Any, packet: Any) -> None:
        """What controllers tell each other; lost if the other one has gone."""
        receiver = self.find_le_controller(receiver_address)
        if receiver is not None and not receiver.hangs:
            self._later(receiver.on_ll_control_pdu, sender_address, packet)

    def _later(self, function: Callable[..., None], *arguments: Any) -> None:
        loop = asyncio.get_running_loop()
        if self.latency_s:
            loop.call_later(self.latency_s, function, *arguments)
        else:
            loop.call_soon(function, *arguments)


class Radio(Controller):  # type: ignore[misc]
    """A controller."""

    in_range = True
    hangs = False
    """It carries nothing, and its links stay up."""
    lost_connections = 0
    """The next connections of which it loses the first packets."""
    scan_response = b""
    answers: Callable[[Any], bool] = staticmethod(lambda _: True)
    """Whether it answers the connection request of a central, by its address."""
    le_features = Controller.le_features & ~_UNSUPPORTED

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._reported_s: dict[tuple[str, bytes], float] = {}
        """When each advertisement was last reported, by its sender and data."""

    def send_advertising_pdu(self, packet: Any) -> None:
        """Advertise, if anybody can hear that."""
        if self.in_range:
            super().send_advertising_pdu(packet)

    def on_advertising_pdu(self, pdu: Any) -> None:
        """Report what is heard to the host, and connect if it waits for the advertiser."""
        if not isinstance(pdu, ll.AdvInd):
            return
        advertiser = self.link.find_le_controller(pdu.advertiser_address)
        if self.le_scan_enable:
            self._report(pdu, advertiser)
        waiting = self.pending_le_connection
        if waiting and waiting.peer_address == pdu.advertiser_address:
            if advertiser is not None and advertiser.lost_connections:
                advertiser.lost_connections -= 1
                self._seem_to_connect(pdu.advertiser_address)
            elif advertiser is None or advertiser.answers(self.public_address):
                self.create_le_connection(pdu.advertiser_address)
            else:
                self._seem_to_connect(pdu.advertiser_address)

    def _report(self, pdu: Any, advertiser: Any) -> None:
        report = hci.HCI_LE_Advertising_Report_Event
        heard = [(report.EventType.ADV_IND, pdu.data)]
        if self.le_scan_type == 1 and advertiser is not None and advertiser.scan_response:
            heard.append((report.EventType.SCAN_RSP, advertiser.scan_response))
        now_s = asyncio.get_running_loop().time()
        for kind, data in heard:
            last_s = self._reported_s.get((str(pdu.advertiser_address), data), 0.0)
            if self.filter_duplicates and now_s - last_s < _DUPLICATES_S:
                continue
            self._reported_s[str(pdu.advertiser_address), data] = now_s
            one = report.Report(
                event_type=kind,
                address_type=pdu.advertiser_address.address_type,
                address=pdu.advertiser_address,
                data=data,
                rssi=_RSSI,
            )
            self.send_hci_packet(report([one]))

    def _seem_to_connect(self, address: Any) -> None:
        """A camera ignores a central, or its first packets are lost: the link is there for the host, and ends
        soon."""
        self.pending_le_connection = None
        handle = self.allocate_connection_handle()
        self._connection_complete(0, handle, address)
        failed = hci.HCI_Disconnection_Complete_Event(
            status=0, connection_handle=handle, reason=_FAILED_TO_ESTABLISH
        )
        asyncio.get_running_loop().call_later(_STRANGER_S, self.send_hci_packet, failed)

    def _connection_complete(self, status: int, handle: int, address: Any) -> None:
        self.send_hci_packet(
            hci.HCI_LE_Connection_Complete_Event(
                status=status,
                connection_handle=handle,
                role=hci.Role.CENTRAL,
                peer_address_type=address.address_type,
                peer_address=address,
                connection_interval=40,
                peripheral_latency=0,
                supervision_timeout=42,
                central_clock_accuracy=0,
            )
        )

    def on_hci_le_create_connection_cancel_command(self, _: Any) -> Any:
        """Forget the connection that the host waits for, and tell it so."""
        waiting, self.pending_le_connection = self.pending_le_connection, None
        if waiting is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        status = hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR
        asyncio.get_running_loop().call_soon(self._connection_complete, status, 0, waiting.peer_address)
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    def on_hci_reset_command(self, command: Any) -> Any:
        """End links, scans and waiting: the kernel resets an adapter that it switches on."""
        self.pending_le_connection = None
        self.le_scan_enable = False
        for connection in list(self.le_connections.values()):
            del self.le_connections[connection.peer_address]
            self._end_at_peer(connection, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)
        return super().on_hci_reset_command(command)

    def lose_links(self) -> None:
        """Each link ends, on both sides, as if nothing had come for long."""
        reason = hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR
        for connection in list(self.le_connections.values()):
            self.on_le_disconnected(connection, reason)
            self._end_at_peer(connection, reason)

    def _end_at_peer(self, connection: Any, reason: Any) -> None:
        peer = self.link.find_le_controller(connection.peer_address)
        for one in list(peer.le_connections.values()) if peer is not None and peer is not self else ():
            if one.peer_address == connection.self_address:
                peer.on_le_disconnected(one, reason)


class HostRadio(Radio):
    """The controller of the guest's adapter, at /dev/vhci."""
