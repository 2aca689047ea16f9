"""The verdict on one machine set: why it keeps its image, or what is patched. Pure."""

from collections.abc import Hashable
from datetime import datetime, timedelta

import msgspec

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistorySpec
from lading.boot_images import history, machine_specs, rules, templates
from lading.boot_images.history import WantedPatch
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import AmiFacts, Api, BootImage, CurrentImage, TargetRequest
from lading.boot_images.release import Part, Release
from lading.boot_images.rules import Enrolment
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
    wanted: WantedPatch | None = None
    lane: Hashable = None


class ReconcileInput(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that all machine sets of one reconcile share."""

    observed: ObservedMachineSets
    settings: BootImageSettings
    moment: datetime
    release: Release
    enrolment: Enrolment
    stubs: Stubs

    @classmethod
    def of(
        cls, observed: ObservedMachineSets, settings: BootImageSettings, now: datetime
    ) -> "ReconcileInput":
        return cls(
            observed=observed,
            settings=settings,
            moment=now,
            release=Release(observed),
            enrolment=rules.enrolment(observed.configurations),
            stubs=Stubs(observed, now),
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
    part = given.release.proven_part(machine_set)
    if isinstance(part, NotUpdated):
        return part
    target = _target(current, machine, image, part, given)
    if isinstance(target, NotUpdated):
        return target
    stub = given.stubs.choose(machine, machine_set.metadata.namespace)
    if isinstance(stub, NotUpdated):
        return stub
    if target.value != image.image.value or stub.secret != machine.secret:
        other_writer = _other_writer(current, machine, image, target, stub.secret, given)
        if other_writer is not None:
            return other_writer
    return _update(current, machine, image, target, stub, given)


def _lane(machine_set: MachineSet, api: Api, target: BootImage, secret: str) -> Hashable:
    """With the target, so that the failure of one release is not that of the next."""
    return "set", api, machine_set.key, target.reference, secret


def _target(
    current: _CurrentMachineSet,
    machine: MachineSpec,
    image: CurrentImage,
    part: Part,
    given: ReconcileInput,
) -> BootImage | NotUpdated:
    observed = given.observed
    return machine.platform.target(
        TargetRequest(
            api=observed.api,
            spec=machine.value,
            present=image,
            stream=part.stream,
            architecture=part.architecture,
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
    given: ReconcileInput,
) -> NotUpdated | None:
    """Two writers that restore their own values would never stop."""
    path = machine_specs.image_path(machine, image)
    appliers = rules.appliers(current.machine_set, path)
    if appliers:
        manager = next(iter(appliers.values()))
        name = current.machine_set.metadata.name
        message = (
            f"{manager} applies the boot image of this machine set; change the image there. "
            f"If {manager} applies it no more, run `lading bootimage adopt {name}`"
        )
        return NotUpdated(Why.MANAGED_BY_OTHER, message)
    times = history.patches(
        current.past, _wanted(current.machine_set, image, target, secret, given)
    )
    if times < history.PATCHES_MAX:
        return None
    return NotUpdated(
        Why.COMPETING_WRITER,
        f"{rules.other_owner(current.machine_set, path)} restored its own value {times} times; "
        "change the image there, then run "
        f"`lading bootimage resume {current.machine_set.metadata.name}`",
    )


def _wanted(
    machine_set: MachineSet,
    image: CurrentImage,
    target: BootImage,
    secret: str,
    given: ReconcileInput,
) -> WantedPatch:
    observed = given.observed
    return WantedPatch(
        value={image.field: target.value},
        secret=secret,
        generation=machine_set.metadata.generation,
        is_retry=_lane(machine_set, observed.api, target, secret) in observed.unapplied,
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
    lane = _lane(machine_set, observed.api, target, stub.secret)
    failure = observed.failures.get(stub.write.lane if stub.write else lane)
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
            lane=lane,
            template=observed.templates.get(templates.reference_of(machine_set)),
        )
    return MachineSetDecision(
        verdict=current.verdict(why, message, target.reference),
        field=image.field,
        is_of_stream=is_of_stream,
        image=target,
        secret=stub.secret,
        wanted=_wanted(machine_set, image, target, stub.secret, given),
        lane=lane,
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
