"""The steps for dead links as a rule-based state machine; the invariants of wifimgrd.domain.link_recovery."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.soak import examples
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.dead_links import HEARD, Asked, Counting, Evidence, Verdict
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.link_recovery import LIMIT_S, UNANSWERED, LinkRecovery
from wifimgrd.domain.link_steps import (
    CAMERA_STEPS,
    PORT_STEPS,
    LinkRules,
    LinkStep,
    Situation,
    StepResult,
)
from wifimgrd.domain.recovery import WINDOW_S, Health

A, B, C = (AdapterIdentity(usb_port=f"1-1.{number}") for number in (1, 2, 3))
ONBOARD = AdapterIdentity(mac="02:00:00:00:00:01")
ADAPTERS = (A, B, C, ONBOARD)
SHARED = frozenset({A, B})
"""Two interfaces of one USB device."""
NOSE, TAIL = DeviceId(1), DeviceId(2)
devices = st.sampled_from([NOSE, TAIL])
adapters = st.sampled_from(ADAPTERS)
evidences = st.builds(
    Evidence,
    arp=st.sampled_from(Asked),
    counting=st.sampled_from(Counting),
    heard=st.integers(0, HEARD),
)
dead_evidences = evidences | st.just(Evidence(Asked.SILENT, Counting.STILL, HEARD))
EVERYTHING = LinkRules(power_ports=frozenset({"1-1.1"}), camera_steps=True)
rules_of_any_kind = st.just(EVERYTHING) | st.builds(
    LinkRules,
    steps=st.frozensets(st.sampled_from(LinkStep)) | st.just(frozenset(LinkStep)),
    silent_link_s=st.sampled_from([0.0, 10.0, 120.0, 120.0]),
    power_ports=st.frozensets(st.sampled_from(["1-1.1", "1-1.2"])),
    camera_steps=st.booleans(),
)


@dataclass
class Camera:
    """A camera as it is, which the ladder does not see."""

    adapter: AdapterIdentity | None = None
    """Its link is through this one."""
    records: bool = False
    has_answered: bool = False
    can: frozenset[LinkStep] = CAMERA_STEPS
    unanswered_s: list[float] = field(default_factory=list)
    """When probes were not answered, since its last answer and the begin of its link."""
    running: LinkStep | None = None


class DeadLinks(RuleBasedStateMachine):
    """Two cameras and four adapters; cameras answer or not, steps begin and end, people command and pull."""

    @initialize(rules=rules_of_any_kind)
    def begin(self, rules: LinkRules) -> None:
        self.now = 1000.0
        self.links = LinkRecovery(rules)
        self.cameras = {NOSE: Camera(A), TAIL: Camera(C)}
        self.taken: dict[tuple[DeviceId | AdapterIdentity, LinkStep], float] = {}
        self.port_runs: dict[AdapterIdentity, LinkStep] = {}

    # -- the world

    def held(self) -> set[AdapterIdentity]:
        """The adapters that carry a link."""
        return {one.adapter for one in self.cameras.values() if one.adapter is not None}

    def free(self, device: DeviceId) -> list[AdapterIdentity]:
        """The adapters that a camera could move to."""
        others = self.held() | self.port_runs.keys() | {self.cameras[device].adapter}
        return [one for one in ADAPTERS if one not in others]

    def sharers(self, adapter: AdapterIdentity) -> frozenset[AdapterIdentity]:
        """The interfaces of the adapter's USB device."""
        return SHARED if adapter in SHARED else frozenset({adapter})

    def idle(self) -> set[AdapterIdentity]:
        """The adapters whose USB device nobody uses."""
        return {one for one in ADAPTERS if not self.sharers(one) & self.held()}

    def situation(self, device: DeviceId, evidence: Evidence) -> Situation:
        """The facts about a connected camera, as the manager collects them."""
        camera = self.cameras[device]
        assert camera.adapter is not None
        others = {one.adapter for key, one in self.cameras.items() if key != device}
        return Situation(
            camera.adapter,
            evidence,
            has_answered=camera.has_answered,
            may_record=camera.records,
            has_other_adapter=bool(self.free(device)),
            is_port_shared=bool(self.sharers(camera.adapter) & others),
            can=camera.can,
        )

    def is_connected(self, device: DeviceId) -> bool:
        """Whether a camera has a link, and no step."""
        camera = self.cameras[device]
        return camera.adapter is not None and camera.running is None

    @rule(seconds=st.sampled_from([0.0, 1.0, 10.0, 120.0, WINDOW_S / 2, WINDOW_S]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.links = self.links.expired(self.now)
        for device, camera in self.cameras.items():
            if camera.running is not None and self.running(device) is None:  # it has taken too long
                camera.running, camera.unanswered_s = None, []
        for adapter in list(self.port_runs):
            if not self.links.obstacle(adapter):
                del self.port_runs[adapter]
        self.taken = {key: when for key, when in self.taken.items() if self.now - when < WINDOW_S}

    def running(self, device: DeviceId) -> LinkStep | None:
        """The step that runs for a camera, as the ladder has it."""
        record = self.links.cameras.get(device)
        return None if record is None or record.running is None else record.running.step

    @rule(device=devices, times=st.integers(1, UNANSWERED + 1), apart_s=st.sampled_from([1.0, 10.0, 30.0]))
    def stay_silent(self, device: DeviceId, times: int, apart_s: float) -> None:
        camera = self.cameras[device]
        for _ in range(times):
            if camera.adapter is not None:
                self.links = self.links.unanswered(device, self.now)
                if camera.running is None:
                    camera.unanswered_s.append(self.now)
            self.wait(apart_s)

    @rule(device=devices)
    def answer(self, device: DeviceId) -> None:
        camera = self.cameras[device]
        if camera.adapter is None:
            return
        self.links = self.links.answered(device, camera.adapter)
        camera.unanswered_s, camera.has_answered = [], True
        assert not self.links.is_silent(device, self.now + WINDOW_S)
        assert self.accuser(camera.adapter) is None

    @rule(device=devices)
    def live_weakly(self, device: DeviceId) -> None:
        """Four of five probes are lost, for hours: no step is ever due."""
        camera = self.cameras[device]
        if camera.adapter is None or camera.running is not None:
            return
        for second in range(0, int(WINDOW_S), 100):
            self.links = self.links.answered(device, camera.adapter)
            for at_s in range(second, second + 100, 25):
                self.links = self.links.unanswered(device, self.now + at_s)
                dead = Evidence(Asked.SILENT, Counting.STILL, HEARD)
                assert self.links.next_step(device, self.situation(device, dead), self.now + at_s) is None
        self.answer(device)

    @rule(device=devices, records=st.booleans(), can=st.sampled_from([CAMERA_STEPS, frozenset()]))
    def change(self, device: DeviceId, records: bool, can: frozenset[LinkStep]) -> None:
        self.cameras[device].records, self.cameras[device].can = records, can

    @rule()
    def connect(self) -> None:
        for device, camera in self.cameras.items():
            if camera.adapter is None and camera.running is None and (free := self.free(device)):
                camera.adapter = free[0]

    @rule(device=devices, how=st.sampled_from(["lost", "disconnected", "removed"]))
    def leave(self, device: DeviceId, how: str) -> None:
        {"lost": self.lose, "disconnected": self.disconnect, "removed": self.remove}[how](device)

    def lose(self, device: DeviceId) -> None:
        """The link of a camera ends."""
        if self.is_connected(device):
            self.links = self.links.link_ended(device)
            self.cameras[device].adapter, self.cameras[device].unanswered_s = None, []
            self.rests(device)

    def disconnect(self, device: DeviceId) -> None:
        """A client disconnects a camera."""
        camera = self.cameras[device]
        self.links = self.links.disconnected(device)
        camera.adapter, camera.running, camera.unanswered_s = None, None, []
        self.rests(device)

    def remove(self, device: DeviceId) -> None:
        """A client removes a camera; another one is registered."""
        self.links = self.links.removed(device)
        self.cameras[device] = Camera()
        assert device not in self.links.cameras
        assert all(self.accuser(one) != device for one in ADAPTERS)
        self.taken = {key: when for key, when in self.taken.items() if key[0] != device}

    @rule(adapter=adapters)
    def pull(self, adapter: AdapterIdentity) -> None:
        self.links = self.links.adapter_removed(adapter)
        if adapter not in self.port_runs:
            assert adapter not in self.links.adapters
            self.taken = {key: when for key, when in self.taken.items() if key[0] != adapter}
        for device, camera in self.cameras.items():
            if camera.adapter == adapter:
                self.links = self.links.link_ended(device)
                camera.adapter, camera.unanswered_s = None, []

    @rule(rules=rules_of_any_kind)
    def reconfigure(self, rules: LinkRules) -> None:
        self.links = replace(self.links, rules=rules)

    # -- steps

    @rule(device=devices, evidence=dead_evidences, apart_s=st.sampled_from([0.0, 1.0, 30.0]))
    def act(self, device: DeviceId, evidence: Evidence, apart_s: float) -> None:
        """The step that is due without a command begins, after a silence that may be long enough."""
        camera = self.cameras[device]
        self.stay_silent(device, UNANSWERED, apart_s)
        if not self.is_connected(device):
            return
        situation, rules = self.situation(device, evidence), self.links.rules
        self.links = self.links.judged(device, situation, self.now)
        step = self.links.next_step(device, situation, self.now)
        if step is None:
            return
        assert rules.silent_link_s, "0 is never"
        assert self.now - camera.unanswered_s[0] >= rules.silent_link_s
        assert len(camera.unanswered_s) >= UNANSWERED
        assert not camera.records
        assert step in rules.steps
        assert step not in PORT_STEPS, "its adapter is not idle"
        assert (device, step) not in self.taken, "once an hour"
        assert camera.has_answered or evidence.arp is not Asked.ANSWERED, "the probe may not fit"
        if step in CAMERA_STEPS:
            assert rules.camera_steps
            assert step in camera.can
            assert self.links.finding(device, situation).verdict in (Verdict.SERVICE, Verdict.CAMERA)
        self.gentler_ones_were_taken(device, step, situation)
        self.start(device, step, situation)

    def gentler_ones_were_taken(self, device: DeviceId, step: LinkStep, situation: Situation) -> None:
        """They were, or are switched off, or are not possible."""
        for gentler in list(LinkStep)[: list(LinkStep).index(step)]:
            is_possible = gentler is LinkStep.REJOIN or (
                situation.has_other_adapter if gentler is LinkStep.OTHER_ADAPTER else gentler in situation.can
            )
            if gentler in self.links.rules.steps and gentler not in PORT_STEPS and is_possible:
                assert (device, gentler) in self.taken

    @rule(device=devices, evidence=dead_evidences, wanted=st.none() | st.sampled_from(LinkStep))
    def command(self, device: DeviceId, evidence: Evidence, wanted: LinkStep | None) -> None:
        camera = self.cameras[device]
        if camera.adapter is None:
            return
        situation = self.situation(device, evidence)
        try:
            step = self.links.commanded_step(device, situation, self.now, wanted)
        except WifimgrdError:
            assert wanted is not LinkStep.REJOIN or camera.running is not None, "it is always possible"
            return
        assert camera.running is None
        assert wanted in (None, step)
        assert step not in CAMERA_STEPS or (not camera.records and step in camera.can)
        assert wanted is not None or step in self.links.rules.steps
        if step is LinkStep.POWER_PORT:
            assert situation.adapter.usb_port in self.links.rules.power_ports
        self.start(device, step, situation)

    def start(self, device: DeviceId, step: LinkStep, situation: Situation) -> None:
        """A step begins; nothing that it ends is another camera's."""
        camera, adapter = self.cameras[device], situation.adapter
        others = {one.adapter for key, one in self.cameras.items() if key != device}
        self.links = self.links.started(device, step, situation, self.now)
        camera.running, camera.unanswered_s = step, []
        assert not self.links.is_silent(device, self.now + WINDOW_S)
        if step in PORT_STEPS:
            assert not self.sharers(adapter) & others
            assert adapter.usb_port
            self.taken[adapter, step] = self.now
            self.port_runs[adapter] = step
        else:
            self.taken[device, step] = self.now
            if step is LinkStep.OTHER_ADAPTER:
                assert self.free(device)

    @rule(device=devices, result=st.sampled_from(StepResult), has_link=st.booleans())
    def end(self, device: DeviceId, result: StepResult, has_link: bool) -> None:
        camera = self.cameras[device]
        if camera.running is None:
            return
        was, step = camera.adapter, camera.running
        if step in PORT_STEPS and was in self.port_runs:
            self.end_port(was, True)
        if step is LinkStep.OTHER_ADAPTER and has_link and (free := self.free(device)):
            camera.adapter = free[0]
        elif not has_link and result is not StepResult.CAME_BACK:
            camera.adapter = None
        if result is StepResult.CAME_BACK:
            camera.has_answered = True
        self.links = self.links.ended(device, result, camera.adapter, self.now)
        camera.running, camera.unanswered_s = None, []
        assert self.running(device) is None
        assert not self.links.is_silent(device, self.now + WINDOW_S)
        if result is StepResult.CAME_BACK and camera.adapter is not None:
            assert self.accuser(camera.adapter) is None
        if was is not None and self.accuser(was) == device and step is LinkStep.OTHER_ADAPTER:
            assert result is not StepResult.DID_NOT or len(self.failed(device)) < 2

    @rule(
        device=devices,
        evidence=dead_evidences,
        results=st.lists(st.tuples(st.sampled_from(StepResult), st.booleans()), min_size=1, max_size=4),
    )
    def live_through_a_silence(
        self, device: DeviceId, evidence: Evidence, results: list[tuple[StepResult, bool]]
    ) -> None:
        """Step after step, each with its result."""
        self.connect()
        for result, has_link in results:
            self.act(device, evidence, 30.0)
            self.end(device, result, has_link)
        self.act_on_ports()

    def failed(self, device: DeviceId) -> frozenset[AdapterIdentity]:
        """The adapters through which a camera did not answer after a step."""
        record = self.links.cameras.get(device)
        return frozenset() if record is None else record.failed_through

    @rule()
    def act_on_ports(self) -> None:
        recording = {device for device, camera in self.cameras.items() if camera.records}
        due = self.links.due(self.now, self.idle(), recording)
        assert len({adapter for adapter, _ in due}) == len(due)
        for adapter, step in due:
            assert self.links.rules.silent_link_s
            assert step in PORT_STEPS & self.links.rules.steps
            assert adapter.usb_port
            assert step is LinkStep.RESET_PORT or adapter.usb_port in self.links.rules.power_ports
            assert not self.sharers(adapter) & self.held(), "nobody's link ends"
            assert adapter not in self.port_runs
            assert (adapter, step) not in self.taken, "once an hour"
            assert self.accuser(adapter) not in {None, *recording}
            if step is LinkStep.POWER_PORT and LinkStep.RESET_PORT in self.links.rules.steps:
                assert (adapter, LinkStep.RESET_PORT) in self.taken
            self.links = self.links.port_started(adapter, step, self.now)
            self.taken[adapter, step] = self.now
            self.port_runs[adapter] = step

    @rule(adapter=adapters, step=st.sampled_from(sorted(PORT_STEPS)), is_done=st.booleans())
    def take_a_step_of_the_port_for_another_reason(
        self, adapter: AdapterIdentity, step: LinkStep, is_done: bool
    ) -> None:
        if adapter not in self.port_runs and adapter not in self.held():
            accuser = self.accuser(adapter)
            self.links = self.links.port_taken(adapter, step, self.now)
            self.taken[adapter, step] = self.now
            assert self.accuser(adapter) == accuser
            assert not self.links.obstacle(adapter)
            self.end_port(adapter, is_done)
            assert self.accuser(adapter) == (None if is_done else accuser)

    @precondition(lambda self: bool(self.port_runs))
    @rule(is_done=st.booleans(), data=st.data())
    def end_any_port(self, is_done: bool, data: st.DataObject) -> None:
        self.end_port(data.draw(st.sampled_from(sorted(self.port_runs, key=str))), is_done)

    def end_port(self, adapter: AdapterIdentity, is_done: bool) -> None:
        """A step of a port has ended, and the adapter is there again, or not."""
        self.links = self.links.port_ended(adapter, is_done=is_done)
        self.port_runs.pop(adapter, None)
        assert not self.links.obstacle(adapter)
        if is_done:
            assert adapter not in dict(self.links.due(self.now, ADAPTERS)), "that needs new evidence"

    # -- what always holds

    def accuser(self, adapter: AdapterIdentity) -> DeviceId | None:
        """The camera by whose link an adapter is at fault."""
        record = self.links.adapters.get(adapter)
        return None if record is None or record.accusation is None else record.accusation.by

    def rests(self, device: DeviceId) -> None:
        """Nothing goes on for a camera, and time brings nothing on."""
        assert self.running(device) is None
        assert not self.links.is_silent(device, self.now + WINDOW_S)
        record = self.links.cameras.get(device)
        assert record is None or (record.silent_since_s, record.failed_through) == (None, frozenset())

    @invariant()
    def what_runs_is_as_the_world_has_it(self) -> None:
        if hasattr(self, "links"):
            for device, camera in self.cameras.items():
                assert self.running(device) == camera.running
            for adapter in ADAPTERS:
                assert bool(self.links.obstacle(adapter)) == (adapter in self.port_runs)

    @invariant()
    def time_ends_every_step_and_an_answer_every_silence(self) -> None:
        if hasattr(self, "links"):
            is_anything = any(one.running for one in self.links.cameras.values()) or self.links.adapters
            assert not is_anything or self.links.next_s() is not None
            after = self.links.expired(self.now + LIMIT_S)
            assert all(one.running is None for one in after.cameras.values())
            assert all(one.running is None for one in after.adapters.values())
            for device in after.cameras:
                after = after.answered(device, A)
            assert after.expired(self.now + LIMIT_S + WINDOW_S) == LinkRecovery(self.links.rules)

    @invariant()
    def clients_are_told_what_is_so(self) -> None:
        if hasattr(self, "links"):
            for adapter in ADAPTERS:
                health = self.links.condition(adapter).health
                assert (health is Health.RECOVERING) == (adapter in self.port_runs)
                is_suspect = self.links.is_suspect(adapter)
                assert is_suspect == (self.accuser(adapter) is not None)
                assert (health is Health.SUSPECT) == (is_suspect and adapter not in self.port_runs)

    @invariant()
    def an_accusation_is_by_a_verdict(self) -> None:
        if hasattr(self, "links"):
            for record in self.links.adapters.values():
                accusation = record.accusation
                assert accusation is None or accusation.finding.verdict is Verdict.ADAPTER


TestDeadLinks = DeadLinks.TestCase
TestDeadLinks.settings = settings(max_examples=examples(200), stateful_step_count=40)
