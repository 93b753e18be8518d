"""Frames of a WebSocket are counted in whatever pieces they come."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.http.front._frames import FRAMES_PER_S, FrameRate

LENGTHS = st.one_of(st.integers(0, 130), st.sampled_from([125, 126, 127, 65535, 65536]))


def frame(length: int, *, masked: bool = True) -> bytes:
    """A frame that a client sends, with content that looks like many frames."""
    mask = 0x80 if masked else 0
    if length < 126:
        head = bytes((0x81, mask | length))
    elif length < 1 << 16:
        head = bytes((0x81, mask | 126)) + length.to_bytes(2)
    else:
        head = bytes((0x81, mask | 127)) + length.to_bytes(8)
    return head + (b"mask" if masked else b"") + bytes(length)


@given(
    st.lists(st.tuples(LENGTHS, st.booleans()), max_size=20),
    st.integers(0, FRAMES_PER_S),
    st.lists(st.integers(0, 1 << 18), max_size=30),
)
def test_as_many_are_kept_as_are_allowed(
    frames: list[tuple[int, bool]], before: int, cuts: list[int]
) -> None:
    rate = FrameRate(0.0)
    assert rate.is_kept(frame(0) * before, 0.0)
    data = b"".join(frame(length, masked=masked) for length, masked in frames)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    kept = [rate.is_kept(data[begin:end], 0.0) for begin, end in pairwise(places)]
    assert all(kept) == (before + len(frames) <= FRAMES_PER_S)


def test_after_a_second_as_many_are_allowed_again() -> None:
    rate = FrameRate(0.0)
    assert rate.is_kept(frame(0) * FRAMES_PER_S, 0.0)
    assert rate.is_kept(frame(0) * FRAMES_PER_S, 1.0)
    assert not rate.is_kept(frame(0), 1.0)
