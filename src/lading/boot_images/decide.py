"""The verdict on one machine set: why it keeps its image, or what is patched. Pure."""

from datetime import datetime, timedelta

import msgspec

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistorySpec
from lading.boot_images import history, machine_specs, release, rules, stream, templates
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import AmiFacts, BootImage, CurrentImage, TargetRequest
from lading.boot_images.release import Release
from lading.boot_images.rules import Enrolment
from lading.boot_images.stream import Golden
from lading.boot_images.stubs import Choice, Stubs
from lading.boot_images.types import (
    BootImageSettings,
    CloneTemplate,
    FailedWrite,
    MachineSetVerdict,
    ObservedMachineSets,
    PatchMachineSet,
    WriteStub,
)
from lading.boot_images.verdicts import NotUpdated, Why
from lading.kernel import planning
from lading.kernel.backoff import Backoff

ATTEMPTS_BEFORE_DEGRADED = 3  # an outage of the API server passes; a refusal does not


class MachineSetDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and the writes that follow from it."""

    verdict: MachineSetVerdict
    field: str = ""
    """The name of the image field."""
    is_of_stream: bool = False
    image: BootImage | None = None
    secret: str = ""
    patch: tuple[CloneTemplate | PatchMachineSet, ...] = ()
    stub: WriteStub | None = None
    retry_at: datetime | None = None


class ReconcileInput(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that all machine sets of one reconcile share."""

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
    ) -> "ReconcileInput":
        return cls(
            observed=observed,
            settings=settings,
            moment=now,
            release=release.release_of(observed),
            enrolment=rules.enrolment(observed.configurations),
            stubs=Stubs(observed, now),
            cluster_architecture=rules.cluster_architecture(observed),
        )


class _CurrentMachineSet(msgspec.Struct, frozen=True, kw_only=True):
    """A machine set as it is, as far as it can be read."""

    machine_set: MachineSet
    machine: MachineSpec | NotUpdated
    image: CurrentImage | NotUpdated
    past: MachineSetBootImageHistorySpec

    def verdict(self, why: Why, message: str, target: str = "") -> MachineSetVerdict:
        return MachineSetVerdict(
            machine_set=self.machine_set,
            state=why.state,
            why=why,
            message=message,
            present=self.image.image if isinstance(self.image, CurrentImage) else None,
            secret=self.machine.secret if isinstance(self.machine, MachineSpec) else "",
            target=target,
        )


def decide(
    machine_set: MachineSet, given: ReconcileInput, past: MachineSetBootImageHistorySpec
) -> MachineSetDecision:
    api = given.observed.api
    machine = machine_specs.machine_spec(api, machine_set, given.observed.templates)
    image = machine_specs.current_image(api, machine)
    current = _CurrentMachineSet(machine_set=machine_set, machine=machine, image=image, past=past)
    outcome = _decide(current, given)
    if isinstance(outcome, MachineSetDecision):
        return outcome
    return MachineSetDecision(
        verdict=current.verdict(outcome.why, outcome.message),
        field=image.field if isinstance(image, CurrentImage) else "",
    )


def _decide(current: _CurrentMachineSet, given: ReconcileInput) -> MachineSetDecision | NotUpdated:
    """The first reason against an update is the verdict."""
    machine_set, machine, image = current.machine_set, current.machine, current.image
    skipped = rules.reason_to_skip(machine_set, given.observed, given.settings)
    if skipped is not None:
        return skipped
    not_enrolled = given.enrolment.reason_to_skip(given.observed.api, machine_set)
    if not_enrolled is not None:
        return not_enrolled
    if isinstance(machine, NotUpdated):
        return machine
    if isinstance(image, NotUpdated):
        return image
    golden = given.release.golden
    if isinstance(golden, NotUpdated):
        return golden
    target = _target(current, machine, image, golden, given)
    if isinstance(target, NotUpdated):
        return target
    stub = given.stubs.choose(machine, machine_set.metadata.namespace)
    if isinstance(stub, NotUpdated):
        return stub
    if target.value != image.image.value or stub.secret != machine.secret:
        other_writer = _other_writer(current, machine, image, target, stub.secret)
        if other_writer is not None:
            return other_writer
    return _update(current, machine, image, target, stub, given)


def _target(
    current: _CurrentMachineSet,
    machine: MachineSpec,
    image: CurrentImage,
    golden: Golden,
    given: ReconcileInput,
) -> BootImage | NotUpdated:
    machine_set, observed = current.machine_set, given.observed
    label = machine_set.metadata.labels.get(stream.STREAM_LABEL)
    chosen = golden.chosen(label)
    if chosen is None:
        message = f"ConfigMap {stream.NAME} has no stream {label!r}"
        return NotUpdated(Why.STREAM_UNKNOWN, message)
    template = observed.templates.get(templates.reference_of(machine_set))
    architecture = rules.architecture(
        machine_set, given.cluster_architecture, template.status if template else None
    )
    if isinstance(architecture, NotUpdated):
        return architecture
    return machine.platform.target(
        TargetRequest(
            api=observed.api,
            spec=machine.value,
            present=image,
            stream=chosen,
            architecture=architecture,
            infrastructure_name=rules.infrastructure_name(observed),
            region=rules.region(observed),
            is_in_history=history.proves(current.past, {image.field: image.image.value}),
            ami=observed.amis.get(image.image.reference, AmiFacts()),
            trusted=given.settings.trusted_boot_images,
        )
    )


def _other_writer(
    current: _CurrentMachineSet,
    machine: MachineSpec,
    image: CurrentImage,
    target: BootImage,
    secret: str,
) -> NotUpdated | None:
    """Two writers that restore their own values would never stop."""
    path = machine.image_root
    if path == machine_specs.PROVIDER_SPEC:
        path = (*path, *image.path)
    manager = rules.other_applier(current.machine_set, path)
    if manager:
        message = f"{manager} applies the boot image of this machine set; change the image there"
        return NotUpdated(Why.MANAGED_BY_OTHER, message)
    times = history.reversals(current.past, {image.field: target.value}, secret)
    if times < history.REVERSALS_MAX:
        return None
    return NotUpdated(
        Why.COMPETING_WRITER,
        f"{rules.last_manager(current.machine_set)} restored its own value {times} times; change "
        f"the image there, then run `lading bootimage resume {current.machine_set.metadata.name}`",
    )


def _update(
    current: _CurrentMachineSet,
    machine: MachineSpec,
    image: CurrentImage,
    target: BootImage,
    stub: Choice,
    given: ReconcileInput,
) -> MachineSetDecision:
    """A stub is written before the machine set is patched; a failed write waits for its retry."""
    machine_set, observed = current.machine_set, given.observed
    is_of_stream = target.value == image.image.value and not target.is_of_marketplace
    notes = "; ".join(stub.warnings)
    changes = machine_specs.changes(machine, image, image=target, secret=stub.secret)
    if not changes and stub.write is None:
        verdict = current.verdict(Why.AS_EXPECTED, notes or "No errors", target.reference)
        return MachineSetDecision(verdict=verdict, field=image.field, is_of_stream=is_of_stream)
    lane = stub.write.lane if stub.write else ("set", observed.api, machine_set.key)
    failure = observed.failures.get(lane)
    retry_at = _retry_at(failure, given.settings.retry, given.moment)
    is_too_early = retry_at is not None and retry_at > given.moment
    why, message = Why.UPDATING, changes or f"Secret {stub.secret} is updated"
    message = f"{message}; {notes}" if notes else message
    if failure is not None and (failure.refused or failure.attempts >= ATTEMPTS_BEFORE_DEGRADED):
        why, message = Why.PATCH_FAILED, failure.message
    patch: tuple[CloneTemplate | PatchMachineSet, ...] = ()
    if stub.write is None and not is_too_early:
        patch = machine_specs.patch(
            machine_set,
            machine,
            image,
            api=observed.api,
            image=target,
            secret=stub.secret,
            template=observed.templates.get(templates.reference_of(machine_set)),
        )
    return MachineSetDecision(
        verdict=current.verdict(why, message, target.reference),
        field=image.field,
        is_of_stream=is_of_stream,
        image=target,
        secret=stub.secret,
        stub=None if is_too_early else stub.write,
        patch=patch,
        retry_at=retry_at if is_too_early else None,
    )


def _retry_at(failure: FailedWrite | None, retry: Backoff, now: datetime) -> datetime | None:
    if failure is None:
        return None
    grown = retry.delay_seconds(failures=failure.attempts, jitter=0.0)
    delay = timedelta(seconds=retry.seconds_max if failure.refused else grown)
    return planning.due(failure.failed_at, delay, now=now)
