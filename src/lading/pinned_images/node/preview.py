"""What a node would do with its sets if they were applied now: pulls, bytes, refusals. Pure."""

from dataclasses import dataclass

from lading.kernel.images import ImageKey
from lading.pinned_images.node import admission, rules
from lading.pinned_images.node.types import Desired, ObservedNodeImages


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    node_name: str
    set_names: tuple[str, ...]
    wanted_count: int
    to_pull: tuple[ImageKey, ...]
    unknown: tuple[ImageKey, ...]
    """Images of unknown size; they are pulled last and not counted."""
    pull_bytes: int
    disk_bytes: int
    """What the pulled layers are expected to take on disk."""
    free_bytes: int | None
    reserve_bytes: int
    refusals: tuple[str, ...]

    @property
    def free_after_bytes(self) -> int | None:
        """None when the free space or the size of an image is unknown."""
        if self.free_bytes is None or self.unknown:
            return None
        return self.free_bytes - self.disk_bytes


def preview(desired: Desired, observed: ObservedNodeImages) -> Preview:
    admitted, refused = admission.admit_by_storage(desired, observed)
    wanted = {key for image_set in desired.sets for key in image_set.images}
    unusable = {
        key: error
        for key in sorted(wanted)
        if (error := rules.guests_cannot_run(key, observed)) is not None
    }
    missing = admitted - observed.images.keys() - unusable.keys()
    to_pull = tuple(sorted(missing))
    layers = rules.layers_of(to_pull, observed) - rules.layers_present(observed)
    pull_bytes = rules.bytes_of(layers)
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
        wanted_count=len(wanted),
        to_pull=to_pull,
        unknown=tuple(key for key in to_pull if key not in observed.resolutions),
        pull_bytes=pull_bytes,
        disk_bytes=int(pull_bytes * desired.settings.expansion_factor),
        free_bytes=observed.budget.free_bytes if observed.budget else None,
        reserve_bytes=observed.budget.reserve_bytes if observed.budget else 0,
        refusals=tuple(problems),
    )
