"""Which files a GoPro tells of a recording: by the lists that the maker and owners have published, and by
cards on which the file of the recording is not the newest one, is not there, or is not alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.camera.drivers.conversations import NOW_US, Talk, find, http, target
from wifimgrd.camera.drivers._gopro_files import LIST_BYTES
from wifimgrd.camera.drivers.gopro import GoProDriver
from wifimgrd.camera.drivers.gopro_gpcontrol import GpControlDriver
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import HostTime, Nonsense
from wifimgrd.domain.errors import CameraBusy
from wifimgrd.domain.recordings import RecordedFile

S = 1_000_000
NOW_S = NOW_US // S
LIST = "/gopro/media/list"
LAST = "/gopro/media/last_captured"
INFO = "/gopro/media/info"
CLOCK = "/gopro/camera/get_date_time"


def item(name: str, created_s: float, size: int = 5_000_000, **more: Any) -> dict[str, Any]:
    """A file, as the list has it."""
    created = str(int(created_s))
    return {"n": name, "cre": created, "mod": created, "s": str(size), **more}


@dataclass
class Camera:
    """A GoPro with a card; its clock shows the right time of its zone at NOW_US."""

    files: Sequence[Mapping[str, Any]] = ()
    folder: str = "100GOPRO"
    zone_min: int = 0
    shows_s: int = NOW_S
    """The UTC that its clock stands for."""
    has_clock: bool = True
    has_last: bool = True
    last: str = ""
    """Instead of the name of the newest file."""
    instead: dict[str, bytes] = field(default_factory=dict)

    @property
    def media_list(self) -> Any:
        return {"id": "3586667939918700960", "media": [{"d": self.folder, "fs": list(self.files)}]}

    def __call__(self, request: bytes) -> bytes:
        path, _, query = target(request).partition("?")
        if path in self.instead:
            return self.instead[path]
        match path:
            case "/gopro/camera/get_date_time" if self.has_clock:
                local = datetime.fromtimestamp(self.shows_s + self.zone_min * 60, UTC)
                return http(
                    {"date": f"{local:%Y_%m_%d}", "time": f"{local:%H_%M_%S}", "tzone": self.zone_min}
                )
            case "/gopro/camera/set_date_time" | "/gp/gpControl/command/setup/date_time":
                return http({})
            case "/gopro/media/last_captured" if self.has_last and not self.files:
                return http(b"", 204)
            case "/gopro/media/last_captured" if self.has_last:
                newest = self.last or str(max(self.files, key=lambda one: int(one["cre"]))["n"])
                return http({"file": newest, "folder": self.folder})
            case "/gopro/media/info":
                name = query.removeprefix(f"path={self.folder}/")
                found = [one for one in self.files if one["n"] == name]
                return http({**found[0], "ct": "0", "dur": "13"}) if found else http({}, 404)
            case "/gopro/media/list" | "/gp/gpMediaList":
                return http(self.media_list)
        return http({"error": 1}, 404)


def gopro(*files: Mapping[str, Any], **settings: Any) -> Talk:
    return Talk(GoProDriver(), Camera(files, **settings))


def recording(began_s: float, length_s: float = 600) -> PastRecording:
    """One that began so long before NOW_US."""
    began_us = NOW_US + round(began_s * S)
    return PastRecording(began_us, began_us + round(length_s * S))


def asked(talk: Talk) -> list[str]:
    return [target(request).partition("?")[0] for request in talk.requests]


def published(media: Sequence[Mapping[str, Any]], folder: str = "100GOPRO") -> Talk:
    """A camera whose clock shows UTC, with such a list."""
    return Talk(GoProDriver(), Camera(media, folder, has_last=False))


def at(began_s: int, length_s: int) -> PastRecording:
    return PastRecording(began_s * S, (began_s + length_s) * S)


# -- lists that nobody here has written


def test_both_chapters_of_an_owners_hero13() -> None:
    """https://github.com/gopro/OpenGoPro/issues/887; the first chapter of the recording before is deleted."""
    talk = published(
        [
            {"n": "GX020163.MP4", "cre": "1768816698", "mod": "1768816698", "glrv": "238663283", "ls": "-1",
             "s": "6876755404"},
            {"n": "GX010164.MP4", "cre": "1768839442", "mod": "1768839442", "glrv": "398932276", "ls": "-1",
             "s": "11536686945"},
            {"n": "GX020164.MP4", "cre": "1768840467", "mod": "1768840467", "glrv": "218217997", "ls": "-1",
             "s": "6352656620"},
        ]
    )  # fmt: skip
    assert find(talk, at(1_768_839_442, 1600)) == (
        RecordedFile("100GOPRO/GX010164.MP4", 11_536_686_945),
        RecordedFile("100GOPRO/GX020164.MP4", 6_352_656_620),
    )
    assert find(talk, at(1_768_816_600, 1600)) is None


def test_a_video_and_a_photo_after_it_in_the_makers_example() -> None:
    """https://gopro.github.io/OpenGoPro/http#tag/Media, "Downloading Media"."""
    talk = published(
        [
            {"n": "GH010397.MP4", "cre": "1613672729", "mod": "1613672729", "glrv": "1895626", "ls": "-1",
             "s": "19917136"},
            {"cre": "1614340213", "mod": "1614340213", "n": "GOPR0001.JPG", "s": "6961371"},
        ]
    )  # fmt: skip
    assert find(talk, at(1_613_672_730, 8)) == (RecordedFile("100GOPRO/GH010397.MP4", 19_917_136),)


def test_the_four_chapters_of_the_makers_example() -> None:
    """The names and sizes of https://gopro.github.io/OpenGoPro/http#tag/Media/Chapters, listed backwards and
    with one time for all of them."""
    sizes = (4_006_413_091, 4_006_001_541, 4_006_041_985, 756_706_872)
    chapters = [
        item(f"GH0{chapter}0078.MP4", 1_613_672_729, size) for chapter, size in enumerate(sizes, start=1)
    ]
    talk = published(chapters[::-1])
    assert find(talk, at(1_613_672_728, 2000)) == tuple(
        RecordedFile(f"100GOPRO/GH0{chapter}0078.MP4", size) for chapter, size in enumerate(sizes, start=1)
    )


def test_time_lapse_photos_of_the_makers_example_are_no_recording() -> None:
    """https://gopro.github.io/OpenGoPro/http#tag/Media/operation/OGP_MEDIA_LIST"""
    group = {
        "b": "8", "cre": "1613669353", "g": "1", "l": "396", "m": ["75", "139"], "mod": "1613669353",
        "n": "G0010008.JPG", "s": "773977407", "t": "t",
    }  # fmt: skip
    assert find(published([group, item("GOPR0001.JPG", 1_613_670_000)]), at(1_613_669_353, 100)) is None


def test_an_owners_max_has_360_videos_and_photos() -> None:
    """https://github.com/gopro/OpenGoPro/pull/116"""
    talk = published(
        [
            {"n": "GH010047.MP4", "cre": "1452234910", "mod": "1452234910", "glrv": "1150765", "ls": "-1",
             "s": "11948174"},
            {"n": "GS010048.360", "cre": "1452240700", "mod": "1452240700", "ls": "1677571", "s": "39469556"},
            {"n": "GS__0049.JPG", "cre": "1452246178", "mod": "1452246178", "s": "4753116"},
            {"n": "GS010050.360", "cre": "1452246186", "mod": "1452246186", "ls": "3520002", "s": "82411500"},
        ]
    )  # fmt: skip
    assert find(talk, at(1_452_240_701, 7)) == (RecordedFile("100GOPRO/GS010048.360", 39_469_556),)
    assert find(talk, at(1_452_246_187, 15)) == (RecordedFile("100GOPRO/GS010050.360", 82_411_500),)


def test_an_owners_hero7_whose_clock_the_hub_has_set() -> None:
    """https://github.com/KonradIT/goprowifihack, HERO7/Mediabrowsing.md; the camera tells no time."""
    media = [
        {"n": "GOPR8204.MP4", "cre": "1495712610", "mod": "1495712610", "glrv": "612380", "ls": "-1",
         "s": "54447740"},
        {"n": "GOPR0004.JPG", "cre": "1495729970", "mod": "1495729970", "s": "146317687"},
        {"n": "GOPR8206.MP4", "cre": "1495730200", "mod": "1495730200", "glrv": "343647", "ls": "-1",
         "s": "99545292"},
    ]  # fmt: skip
    talk = Talk(GpControlDriver(), Camera(media, "131GOPRO"))
    past = at(1_495_730_201 - 7200, 20)
    assert find(talk, past) is None
    assert asked(talk) == []
    talk(talk.driver.set_clock(HostTime(1_495_700_000 * S, 7200, is_dst=True)))
    assert find(talk, past) == (RecordedFile("131GOPRO/GOPR8206.MP4", 99_545_292),)
    assert asked(talk) == ["/gp/gpMediaList"]


def test_an_owner_has_seen_local_time_as_if_it_were_utc() -> None:
    """A HERO9 at 13:24 on 24 September 2021: https://github.com/KonradIT/goprowifihack/issues/261; its clock
    cannot be read over the network."""
    talk = gopro(item("GX010001.MP4", 1_632_489_844), has_clock=False, has_last=False)
    began = int(datetime(2021, 9, 24, 11, 24, 3, tzinfo=UTC).timestamp())
    talk(talk.driver.set_clock(HostTime(began * S - 60 * S, 7200, is_dst=True)))
    assert find(talk, at(began, 30)) == (RecordedFile("100GOPRO/GX010001.MP4", 5_000_000),)


# -- what is asked


def test_of_a_short_recording_the_newest_file_is_asked_for() -> None:
    talk = gopro(item("GX010001.MP4", NOW_S - 500), item("GX010002.MP4", NOW_S - 30, 77))
    assert find(talk, recording(-30, 20)) == (RecordedFile("100GOPRO/GX010002.MP4", 77),)
    assert asked(talk) == [CLOCK, LAST, INFO]
    assert target(talk.requests[-1]).endswith("?path=100GOPRO/GX010002.MP4")


def test_of_a_long_one_the_list_is_asked_for() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 700, 77))
    assert find(talk, recording(-700)) == (RecordedFile("100GOPRO/GX010002.MP4", 77),)
    assert asked(talk) == [CLOCK, LIST]


def test_a_model_that_does_not_tell_its_newest_file_is_asked_for_that_once() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30), has_last=False)
    assert find(talk, recording(-30, 20)) is not None
    assert asked(talk) == [CLOCK, LAST, LIST]
    assert find(talk, recording(-30, 20)) is not None
    assert asked(talk) == [CLOCK, LIST]


def test_the_file_is_found_behind_a_photo_that_was_taken_since() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30), item("GOPR0003.JPG", NOW_S - 2))
    assert find(talk, recording(-30, 20)) == (RecordedFile("100GOPRO/GX010002.MP4", 5_000_000),)
    assert asked(talk) == [CLOCK, LAST, LIST]


def test_the_file_is_found_behind_another_recording_when_it_is_asked_for_again() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 60), item("GX010003.MP4", NOW_S - 30))
    with pytest.raises(CameraBusy):
        find(talk, recording(-60, 20))
    assert find(talk, recording(-60, 20)) == (RecordedFile("100GOPRO/GX010002.MP4", 5_000_000),)
    assert find(talk, recording(-30, 20)) == (RecordedFile("100GOPRO/GX010003.MP4", 5_000_000),)
    assert asked(talk) == [CLOCK, LAST, INFO]


def test_the_time_zone_of_the_camera_counts_not_that_of_the_hub() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30 - 210 * 60), zone_min=-210)
    assert find(talk, recording(-30, 20)) is not None


def test_a_clock_that_is_wrong_is_as_good_as_a_right_one() -> None:
    talk = gopro(item("GX010002.MP4", 1_451_606_400 - 30), shows_s=1_451_606_400)
    assert find(talk, recording(-30, 20)) is not None


def test_a_camera_that_is_busy_is_asked_later() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30))
    state = {"status": {"8": 1, "10": 0}}
    assert isinstance(talk.camera, Camera)
    talk.camera.instead["/gopro/camera/state"] = http(state)
    talk(talk.driver.read())
    with pytest.raises(CameraBusy, match="not finished"):
        find(talk, recording(-30, 20))
    assert asked(talk) == []


# -- files that are not told


@pytest.mark.parametrize("length_s", [20, 600])
@pytest.mark.parametrize("age_s", [40, 600, 86_400, 3600 * 24 * 300])
def test_an_old_file_that_is_still_the_newest_is_not_told(age_s: int, length_s: int) -> None:
    talk = gopro(item("GX010001.MP4", NOW_S - 30 - age_s))
    with pytest.raises(CameraBusy, match="not finished"):
        find(talk, recording(-30, length_s))


@pytest.mark.parametrize("length_s", [20, 600])
def test_an_empty_card_has_no_file_yet(length_s: int) -> None:
    with pytest.raises(CameraBusy, match="not finished"):
        find(gopro(), recording(-30, length_s))


def test_without_a_clock_nothing_is_asked_for_and_nothing_is_told() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30), has_clock=False)
    assert find(talk, recording(-30, 20)) is None
    assert asked(talk) == [CLOCK]


def test_a_clock_that_was_set_since_the_recording_proves_nothing() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 630 - 3600))  # it was an hour late then
    with pytest.raises(CameraBusy):
        find(talk, recording(-630))


def test_a_clock_that_was_set_back_since_the_recording_makes_no_old_file_a_new_one() -> None:
    """By an hour, exactly after which the recording began."""
    talk = gopro(item("GX010001.MP4", NOW_S - 600), item("GX010002.MP4", NOW_S + 3000))
    assert find(talk, recording(-600)) is None


def test_a_file_that_was_begun_before_the_recording_was_seen_is_not_told() -> None:
    """A time lapse that ran when the camera was connected: it may be a file of another recording."""
    talk = gopro(item("GX010002.MP4", NOW_S - 900))
    with pytest.raises(CameraBusy):
        find(talk, recording(-600))


def test_two_recordings_in_one_moment_are_not_told_apart() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 604), item("GX010003.MP4", NOW_S - 600))
    assert find(talk, recording(-602)) is None


def test_two_short_recordings_that_follow_each_other_are() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 100), item("GX010003.MP4", NOW_S - 90), has_last=False)
    assert find(talk, recording(-100, 7)) == (RecordedFile("100GOPRO/GX010002.MP4", 5_000_000),)
    assert find(talk, recording(-90, 7)) == (RecordedFile("100GOPRO/GX010003.MP4", 5_000_000),)


def test_a_recording_is_not_told_with_a_chapter_missing() -> None:
    first, third = item("GX010002.MP4", NOW_S - 700), item("GX030002.MP4", NOW_S - 300)
    assert find(gopro(first, third), recording(-700)) is None
    assert find(gopro(item("GX020002.MP4", NOW_S - 650), third), recording(-700)) is None


def test_chapters_of_an_older_recording_with_the_same_number_are_not_told() -> None:
    """After 9999 files, and after the card was formatted, the numbers begin anew."""
    talk = gopro(item("GX010002.MP4", NOW_S - 700), item("GX020002.MP4", NOW_S - 90_000))
    assert find(talk, recording(-700)) == (RecordedFile("100GOPRO/GX010002.MP4", 5_000_000),)


def test_a_recording_may_begin_in_one_folder_and_end_in_the_next() -> None:
    talk = gopro()
    media = [
        {"d": "100GOPRO", "fs": [item("GX010999.MP4", NOW_S - 700)]},
        {"d": "101GOPRO", "fs": [item("GX020999.MP4", NOW_S - 300)]},
    ]
    assert isinstance(talk.camera, Camera)
    talk.camera.instead[LIST] = http({"media": media})
    found = find(talk, recording(-700))
    assert found is not None
    assert [file.name for file in found] == ["100GOPRO/GX010999.MP4", "101GOPRO/GX020999.MP4"]


def test_older_models_count_their_chapters_from_the_second_file() -> None:
    """`GOPR1234.MP4` is followed by `GP011234.MP4`:
    https://community.gopro.com/s/article/GoPro-Camera-File-Naming-Convention."""
    names = ["GOPR1234.MP4", "GP011234.MP4", "GP021234.MP4"]
    talk = gopro(*(item(name, NOW_S - 700 + 200 * index) for index, name in enumerate(names)))
    found = find(talk, recording(-700))
    assert found is not None
    assert [file.name for file in found] == [f"100GOPRO/{name}" for name in names]


def test_a_loop_is_told_with_the_files_that_are_left_of_it() -> None:
    """The same article: `GHAA0001.MP4` is followed by `GHAA0002.MP4`. The first ones are overwritten."""
    left = [item(f"GXAB000{number}.MP4", NOW_S - 900 + 60 * number) for number in (3, 4, 5)]
    talk = gopro(item("GXAA0002.MP4", NOW_S - 5000), *left)
    found = find(talk, recording(-900, 800))
    assert found is not None
    assert [file.name for file in found] == [f"100GOPRO/GXAB000{number}.MP4" for number in (3, 4, 5)]
    assert find(gopro(left[0], left[2]), recording(-900, 800)) is None


def test_a_size_that_is_none_is_not_known() -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 700) | {"s": "-1"})
    assert find(talk, recording(-700)) == (RecordedFile("100GOPRO/GX010002.MP4", None),)


@pytest.mark.parametrize(
    "change",
    [
        {"n": "../../etc/passwd"}, {"n": "GX010002.MP4\n"}, {"n": "GX010002.LRV"}, {"n": "g" * 300},
        {"n": 1}, {"cre": "soon"}, {"cre": -1}, {"cre": None}, {"cre": "9" * 400},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_not_told(change: dict[str, Any]) -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 700) | change, item("GOPR0009.JPG", NOW_S - 1))
    assert find(talk, recording(-700)) is None


@pytest.mark.parametrize("folder", ["", "..", "100GOPRO/..", "100GOPRO\r\nX: y", "x" * 300, "100gopro"])
@pytest.mark.parametrize("length_s", [20, 600])
def test_a_folder_that_is_none_is_not_asked_for(folder: str, length_s: int) -> None:
    began_s = -10 - length_s
    talk = gopro(item("GX010002.MP4", NOW_S + began_s), item("GOPR0009.JPG", NOW_S), folder=folder)
    assert find(talk, recording(began_s, length_s)) is None
    assert INFO not in asked(talk)


@pytest.mark.parametrize(
    "media",
    [
        {},
        {"media": 1},
        {"media": [1, {}, {"d": "100GOPRO"}, {"d": 1, "fs": 1}, {"d": "100GOPRO", "fs": [1]}]},
    ],
)
def test_a_list_that_makes_no_sense_has_no_file(media: Any) -> None:
    talk = gopro()
    assert isinstance(talk.camera, Camera)
    talk.camera.instead[LIST] = http(media)
    with pytest.raises(CameraBusy):
        find(talk, recording(-700))


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_refusal_is_not_known(status: int) -> None:
    talk = gopro(item("GX010002.MP4", NOW_S - 30))
    assert isinstance(talk.camera, Camera)
    talk.camera.instead = {INFO: http({}, status), LIST: http({}, status)}
    assert find(talk, recording(-30, 20)) is None
    assert find(talk, recording(-30, 600)) is None


def test_a_list_of_10000_files_is_too_large_and_one_of_4000_is_read() -> None:
    older = [item(f"GX01{number:04}.MP4", NOW_S - 9_000_000 + 10 * number) for number in range(10_000)]
    newest = item("GX019999.MP4", NOW_S - 700)
    talk = gopro(*older[:4000], newest)
    assert find(talk, recording(-700)) == (RecordedFile("100GOPRO/GX019999.MP4", 5_000_000),)
    with pytest.raises(Nonsense, match="too large"):
        find(gopro(*older, newest), recording(-700))
    assert LIST_BYTES == 512 * 1024
