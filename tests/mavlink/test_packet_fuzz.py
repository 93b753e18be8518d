"""Whatever packets arrive: nothing is logged as a bug, memory stays, commands to record only come from frames
that are whole, and a station is answered after it as before. `make soak` goes on for longer."""

from __future__ import annotations

import asyncio
import random
import struct
import sys
import time
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from tests.faults.random_life import duration_s, seed
from tests.mavlink.bridge import Rig, run
from tests.mavlink.scripted_hub import device
from tests.mavlink.station import START, Station, answers, mavlink
from wifimgrd.mavlink import _recording as recording
from wifimgrd.mavlink._frames import OF_CAMERAS

DURATION_S: Final = duration_s("2s", "WIFIMGRD_FUZZ")
SEED: Final = seed()
KEY: Final = bytes(range(32))
FLOATS: Final = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    100.0,
    103.0,
    259.0,
    262.0,
    1e6,
    3e38,
    -3e38,
    1e-45,
    float("nan"),
    float("inf"),
    float("-inf"),
)
NUMBERS: Final = (0, 80, 400, 511, 512, 521, 522, 525, 527, 530, 2000, 2500, 2501, 2502, 65535)


class Chance(random.Random):
    """Packets at random, most of them nearly right."""

    def datagram(self, mav: Any) -> bytes:
        packets = b"".join(self.packet(mav) for _ in range(self.choice((1, 1, 1, 2, 8))))
        return self.noise() + packets + self.noise() if self.random() < 0.2 else packets

    def noise(self) -> bytes:
        return self.choice((b"", b"\xfd", b"\xfe", b"\xfd\xfd\x00", self.randbytes(self.randrange(60))))

    def packet(self, mav: Any) -> bytes:
        system, component = self.choice((0, 1, 1, 1, 2, 255)), self.choice((0, 1, 100, 101, 105, 106, 255))
        mav.srcSystem, mav.srcComponent = self.choice((1, 2, 255, 0)), self.choice((1, 100, 190, 191, 0))
        parameters = [self.choice(FLOATS) for _ in range(7)]
        match self.randrange(5):
            case 0:
                message = mav.heartbeat_encode(self.randrange(40), 8, self.choice((0, 0x80, 0xFF)), 0, 4)
            case 1:
                number = self.choice(NUMBERS)
                message = mav.command_int_encode(
                    system,
                    component,
                    2,
                    number,
                    0,
                    0,
                    *parameters[:4],
                    self.getrandbits(31),
                    -1,
                    parameters[5],
                )
            case 2:
                message = mav.tunnel_encode(system, component, 0, 128, list(self.randbytes(128)))
            case _:
                message = mav.command_long_encode(system, component, self.choice(NUMBERS), 0, *parameters)
        is_old = message.id < 256 and self.random() < 0.05
        return self.mangled(bytes(message.pack(mav, force_mavlink1=is_old)))

    def mangled(self, packet: bytes) -> bytes:
        match self.randrange(8):
            case 0:
                return packet[: self.randrange(len(packet) + 1)]
            case 1:
                changed = bytearray(packet)
                changed[self.randrange(len(changed))] ^= 1 << self.randrange(8)
                return bytes(changed)
            case 2 if (
                packet[0] == 0xFD and packet[2] == 0
            ):  # another length, or a flag, with the right checksum
                payload = packet[10:-2][: self.randrange(40)] or b"\0"
                header = bytes((len(payload), self.choice((0, 0, 1, 2, 0xFF)))) + packet[3:10]
                extra = mavlink.mavlink_map[int.from_bytes(packet[7:10], "little")].crc_extra
                crc = mavlink.x25crc(header + payload + bytes((extra,))).crc
                return (
                    b"\xfd" + header + payload + struct.pack("<H", crc) + self.randbytes(self.choice((0, 13)))
                )
        return packet


@pytest.mark.parametrize("key", [None, KEY], ids=["without a key", "with a key"])
def test_any_packets_end_nothing(key: bytes | None, capsys: pytest.CaptureFixture[str]) -> None:
    sent = 0

    async def play(rig: Rig) -> None:
        nonlocal sent
        chance, loop = Chance(SEED), asyncio.get_running_loop()
        failures: list[Any] = []
        loop.set_exception_handler(lambda _, context: failures.append(context))
        stranger, station = Station(), Station(key=key)
        ends_s = time.monotonic() + DURATION_S
        while time.monotonic() < ends_s:
            for _ in range(20):
                rig.station.send(chance.datagram((stranger if chance.random() < 0.5 else station).mav))
                sent += 1
            await asyncio.sleep(chance.choice((0.02, 0.02, 0.5, 3.0)))
            rig.station.received()
            assert all(len(one.intervals) <= len(OF_CAMERAS) for one in rig.bridge._cameras.values())
            assert rig.bridge._recording._running <= recording.MOST_RUNNING
            assert not failures, f"seed {SEED}: {failures}"
        stranger.close()
        station.close()
        await asyncio.sleep(30.0)
        rig.station.received()
        rig.hub.orders.clear()
        assert answers(await rig.asked(100, START))[-1][0] == 100
        assert rig.hub.orders
        rig.station.gaps.clear()  # its buffer was not emptied in time

    cameras = [device(1, "Nose"), device(2, "Left"), device(3, "Away", connected=False)]
    with capture_logs() as log:
        run(play, *cameras, key=key, record_while_armed=True)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {SEED}, {sent} datagrams\n")
    assert {one["log_level"] for one in log} <= {"info", "warning"}, f"seed {SEED}: {log[-3:]}"
