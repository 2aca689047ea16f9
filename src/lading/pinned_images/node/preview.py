"""What a node would pull if sets were applied: images, bytes, refusals. Pure."""

from collections.abc import Iterable, Mapping, Set

import msgspec

from lading.kernel.images import ImageKey, Layer
from lading.kernel.values import replace
from lading.pinned_images.node import admission, rules
from lading.pinned_images.node.types import Desired, FailedResolution, ObservedNodeImages

SPACE_NOT_SEEN = "the file system of the runtime's images cannot be seen from here"


class UnavailableImage(msgspec.Struct, frozen=True, kw_only=True):
    """An image that is not on the node and cannot be pulled."""

    key: ImageKey
    reason: str
    message: str


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    node_name: str
    set_names: tuple[str, ...]
    wanted: frozenset[ImageKey]
    wanted_before: frozenset[ImageKey] = frozenset()
    """By the sets that exist in the cluster."""
    missing: tuple[ImageKey, ...]
    """Not on the node, including images that would be refused."""
    unavailable: tuple[UnavailableImage, ...] = ()
    to_pull: tuple[ImageKey, ...]
    unknown: tuple[ImageKey, ...]
    """Images of unknown size. They are pulled last and not counted."""
    pull_layers: frozenset[Layer]
    """Missing layers of the images to pull."""
    disk_bytes: int
    """The expected size of the pulled layers on disk."""
    free_bytes: int | None
    space_problem: str = ""
    """Why the free space is unknown."""
    reserve_bytes: int
    refusals: tuple[str, ...]

    @property
    def pull_bytes(self) -> int:
        return rules.bytes_of(self.pull_layers)

    @property
    def added(self) -> frozenset[ImageKey]:
        """Images that only the planned sets want."""
        return self.wanted - self.wanted_before

    @property
    def pending_before(self) -> tuple[ImageKey, ...]:
        """Images to pull that existing sets want."""
        return tuple(key for key in self.to_pull if key in self.wanted_before)

    @property
    def free_after_bytes(self) -> int | None:
        """None if the free space or the size of an image is unknown."""
        if self.free_bytes is None or self.unknown:
            return None
        return self.free_bytes - self.disk_bytes


def preview(desired: Desired, observed: ObservedNodeImages) -> Preview:
    admitted, refused = admission.admit_by_storage(desired, observed)
    wanted = rules.wanted_images(desired)
    unusable = {
        key: error
        for key in sorted(wanted)
        if (error := rules.guests_cannot_run(key, observed)) is not None
    }
    missing = admitted - observed.images.keys() - unusable.keys()
    to_pull = tuple(sorted(missing))
    layers = rules.layers_of(to_pull, observed) - rules.layers_present(observed)
    problems = [f"{name}: {problem.message}" for name, problem in sorted(refused.items())]
    problems += [
        f"{image_set.name}: {text}" for image_set in desired.sets for text in image_set.unresolvable
    ]
    problems += [f"{key}: {error.message}" for key, error in unusable.items()]
    if (problem := rules.node_problem(observed, desired.node_name)) is not None:
        problems.append(problem.message)
    if observed.cannot_pin:
        problems.append(f"nothing can be pinned: {observed.cannot_pin}")
    return Preview(
        node_name=desired.node_name,
        set_names=tuple(image_set.name for image_set in desired.sets),
        wanted=wanted,
        missing=tuple(sorted(wanted - observed.images.keys())),
        unavailable=_unavailable(wanted - observed.images.keys(), observed.unresolved),
        to_pull=to_pull,
        unknown=tuple(key for key in to_pull if key not in observed.resolutions),
        pull_layers=layers,
        disk_bytes=int(rules.bytes_of(layers) * desired.settings.expansion_factor),
        free_bytes=observed.budget.free_bytes if observed.budget else None,
        space_problem="" if observed.budget else SPACE_NOT_SEEN,
        reserve_bytes=observed.budget.reserve_bytes if observed.budget else 0,
        refusals=tuple(problems),
    )


def bytes_behind_cache(previews: Iterable[Preview]) -> int:
    """The download of a site with a pull-through cache: every layer once."""
    return rules.bytes_of({layer for one in previews for layer in one.pull_layers})


def with_failures(found: Preview, failures: Mapping[ImageKey, FailedResolution]) -> Preview:
    """The preview, with failures that were found later."""
    known = {one.key for one in found.unavailable}
    more = _unavailable(set(found.missing) - known, failures)
    return replace(found, unavailable=(*found.unavailable, *more))


def _unavailable(
    missing: Set[ImageKey], failures: Mapping[ImageKey, FailedResolution]
) -> tuple[UnavailableImage, ...]:
    return tuple(
        UnavailableImage(
            key=key, reason=failures[key].error.kind, message=failures[key].error.message
        )
        for key in sorted(missing & failures.keys())
    )
