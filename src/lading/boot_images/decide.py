"""What becomes of one machine set: why it is left alone, or what is patched and how. Pure."""

from datetime import datetime, timedelta

import msgspec

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistorySpec
from lading.boot_images import history, machine_specs, patches, proof, rules, stream
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import AmiFacts, BootImage, CurrentImage, Question
from lading.boot_images.proof import ReleaseProof
from lading.boot_images.rules import Enrolment
from lading.boot_images.stream import Golden
from lading.boot_images.stubs import Stubs
from lading.boot_images.types import (
    PROOF_ANNOTATION,
    BootImageSettings,
    CloneTemplate,
    FailedWrite,
    MachineSetVerdict,
    ObservedMachineSets,
    PatchMachineSet,
    WriteStub,
)
from lading.boot_images.verdicts import Failed, MachineSetState, Manual, Skipped, Why
from lading.kernel import planning
from lading.kernel.backoff import Backoff

ATTEMPTS_BEFORE_DEGRADED = 3  # an outage of the API server passes; a refusal does not


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The golden images and whether they may be used."""

    golden: Golden | None = None
    proof: ReleaseProof | None = None
    problem: Skipped | None = None


class MachineSetDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and what to write for it."""

    verdict: MachineSetVerdict
    field: str = ""
    is_of_stream: bool = False
    image: BootImage | None = None
    secret: str = ""
    patch: tuple[CloneTemplate | PatchMachineSet, ...] = ()
    stub: WriteStub | None = None
    retry_at: datetime | None = None


def release_of(observed: ObservedMachineSets) -> Release:
    if observed.golden is None:
        message = f"ConfigMap {stream.NAME} does not exist"
        return Release(problem=Skipped(Why.GOLDEN_MISSING, message))
    try:
        golden = stream.golden(observed.golden.data)
    except stream.Broken as broken:
        message = f"ConfigMap {observed.golden.key}: {broken}"
        return Release(problem=Skipped(Why.GOLDEN_BROKEN, message))
    proven = proof.prove(
        golden,
        cluster_version=observed.cluster_version,
        nodes=observed.nodes,
        annotation=observed.golden.metadata.annotations.get(PROOF_ANNOTATION, ""),
        machine_images=observed.machine_images,
    )
    problem = None if proven.is_proven else Skipped(Why.NOT_PROVEN, proven.message)
    return Release(golden=golden, proof=proven, problem=problem)


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """What all machine sets of one pass share; it is found once."""

    observed: ObservedMachineSets
    settings: BootImageSettings
    moment: datetime
    release: Release
    enrolment: Enrolment
    stubs: Stubs
    cluster_architecture: str

    @classmethod
    def of(
        cls, observed: ObservedMachineSets, settings: BootImageSettings, now: datetime
    ) -> "Pass":
        return cls(
            observed=observed,
            settings=settings,
            moment=now,
            release=release_of(observed),
            enrolment=rules.enrolment(observed.configurations),
            stubs=Stubs(observed, now),
            cluster_architecture=rules.cluster_architecture(observed),
        )


def decide(
    machine_set: MachineSet, one_pass: Pass, past: MachineSetBootImageHistorySpec
) -> MachineSetDecision:
    """What is in the way of an update is found before what it would need."""
    observed, enrolment = one_pass.observed, one_pass.enrolment
    machine: MachineSpec | None = None
    present: CurrentImage | None = None
    unreadable: Skipped | None = None
    try:
        machine = machine_specs.machine_spec(observed.api, machine_set, observed.templates)
        present = machine.platform.present(observed.api, machine.value)
    except Skipped as skipped:
        unreadable = skipped
    seen = _Seen(machine_set=machine_set, machine=machine, present=present)
    try:
        rules.check(machine_set, observed, one_pass.settings)
        if enrolment.is_reporting_only or not enrolment.includes(observed.api, machine_set):
            message = enrolment.problem or f"{enrolment.source} does not select this machine set"
            raise Skipped(enrolment.why, message)
        for problem in (unreadable, one_pass.release.problem):
            if problem is not None:
                raise problem
        assert machine is not None
        assert present is not None
        target = _target(machine_set, machine, present, one_pass, past)
        return _update(seen, machine, present, target, one_pass, past)
    except Skipped as skipped:
        return _skipped(seen, skipped)


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    machine_set: MachineSet
    machine: MachineSpec | None
    present: CurrentImage | None

    def verdict(
        self, state: MachineSetState, why: Why, message: str, target: str = ""
    ) -> MachineSetVerdict:
        return MachineSetVerdict(
            machine_set=self.machine_set,
            state=state,
            why=why,
            message=message,
            present=self.present.image if self.present else None,
            secret=self.machine.secret if self.machine else "",
            target=target,
        )

    @property
    def field(self) -> str:
        """The name of the image field, under which history keeps its value."""
        return str(self.present.path[-1]) if self.present else ""


_STATES = {Why.NOT_ENROLLED: MachineSetState.NOT_ENROLLED, Why.NOT_PROVEN: MachineSetState.WAITING}


def _skipped(seen: _Seen, skipped: Skipped) -> MachineSetDecision:
    match skipped:
        case Failed():
            state = MachineSetState.FAILED
        case Manual():
            state = MachineSetState.MANUAL
        case _:
            state = _STATES.get(skipped.why, MachineSetState.SKIPPED)
    return MachineSetDecision(
        verdict=seen.verdict(state, skipped.why, str(skipped)), field=seen.field
    )


def _target(
    machine_set: MachineSet,
    machine: MachineSpec,
    present: CurrentImage,
    one_pass: Pass,
    past: MachineSetBootImageHistorySpec,
) -> BootImage:
    observed, golden = one_pass.observed, one_pass.release.golden
    assert golden is not None
    label = machine_set.metadata.labels.get(stream.STREAM_LABEL)
    chosen = golden.chosen(label)
    if chosen is None:
        raise Skipped(Why.STREAM_UNKNOWN, f"ConfigMap {stream.NAME} has no stream {label!r}")
    template = observed.templates.get(machine_specs.template_reference(machine_set))
    question = Question(
        api=observed.api,
        spec=machine.value,
        present=present,
        stream=chosen,
        architecture=rules.architecture(
            machine_set, one_pass.cluster_architecture, template.status if template else None
        ),
        infrastructure_name=rules.infrastructure_name(observed),
        region=rules.region(observed),
        is_in_history=history.proves(past, {str(present.path[-1]): present.image.value}),
        ami=observed.amis.get(present.image.reference, AmiFacts()),
        trusted=one_pass.settings.trusted_boot_images,
    )
    return machine.platform.target(question)


def _update(
    seen: _Seen,
    machine: MachineSpec,
    present: CurrentImage,
    target: BootImage,
    one_pass: Pass,
    past: MachineSetBootImageHistorySpec,
) -> MachineSetDecision:
    machine_set, observed, now = seen.machine_set, one_pass.observed, one_pass.moment
    choice = one_pass.stubs.choose(machine, machine_set.metadata.namespace)
    is_current = target.value == present.image.value
    is_of_stream = is_current and not target.is_of_marketplace
    needs_patch = not is_current or choice.secret != machine.secret
    notes = "; ".join(choice.warnings)
    if not needs_patch and choice.write is None:
        verdict = seen.verdict(
            MachineSetState.CURRENT, Why.AS_EXPECTED, notes or "No errors", target.reference
        )
        return MachineSetDecision(verdict=verdict, field=seen.field, is_of_stream=is_of_stream)
    if needs_patch:
        _check_neighbours(seen, machine, present, target, choice.secret, past)
    lane = "set", observed.api, machine_set.key
    failure = observed.failures.get(choice.write.lane if choice.write else lane)
    retry_at = _retry_at(failure, one_pass.settings.retry, now)
    changes = patches.changes(machine, present, image=target, secret=choice.secret)
    message = changes or f"Secret {choice.secret} is updated"
    message = f"{message}; {notes}" if notes else message
    verdict = seen.verdict(MachineSetState.UPDATING, Why.UPDATING, message, target.reference)
    if failure is not None and (failure.refused or failure.attempts >= ATTEMPTS_BEFORE_DEGRADED):
        verdict = seen.verdict(
            MachineSetState.FAILED, Why.PATCH_FAILED, failure.message, target.reference
        )
    is_too_early = retry_at is not None and retry_at > now
    waits = choice.write is not None or is_too_early
    return MachineSetDecision(
        verdict=verdict,
        field=seen.field,
        is_of_stream=is_of_stream,
        image=target,
        secret=choice.secret,
        stub=None if is_too_early else choice.write,
        patch=()
        if waits
        else patches.patch(
            machine_set,
            machine,
            present,
            api=observed.api,
            image=target,
            secret=choice.secret,
            template=observed.templates.get(machine_specs.template_reference(machine_set)),
        ),
        retry_at=retry_at if is_too_early else None,
    )


def _check_neighbours(
    seen: _Seen,
    machine: MachineSpec,
    present: CurrentImage,
    target: BootImage,
    secret: str,
    past: MachineSetBootImageHistorySpec,
) -> None:
    """Two writers that each put their value back would make machines of both for ever."""
    path = machine.image_root
    if path == machine_specs.PROVIDER_SPEC:
        path = (*path, *present.path)
    manager = rules.other_applier(seen.machine_set, path)
    if manager:
        message = f"{manager} applies the boot image of this machine set; change the image there"
        raise Skipped(Why.MANAGED_BY_OTHER, message)
    times = history.reversals(past, {seen.field: target.value}, secret)
    if times >= history.REVERSALS_MAX:
        writer = rules.last_manager(seen.machine_set)
        raise Skipped(
            Why.COMPETING_WRITER,
            f"{writer} restored its own value {times} times; change the image there, then run "
            f"`lading bootimage resume {seen.machine_set.metadata.name}`",
        )


def _retry_at(failure: FailedWrite | None, retry: Backoff, now: datetime) -> datetime | None:
    if failure is None:
        return None
    grown = retry.delay_seconds(failures=failure.attempts, jitter=0.0)
    delay = timedelta(seconds=retry.seconds_max if failure.refused else grown)
    return planning.due(failure.failed_at, delay, now=now)
