"""Which pulls start, in which order, and which are cancelled. Pure."""

from collections.abc import Iterable
from datetime import datetime

from lading.kernel import durations
from lading.kernel.images import ImageKey, Layer
from lading.kernel.planning import Action
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import (
    CancelPull,
    Desired,
    DesiredSet,
    ObservedNodeImages,
    StartPull,
)
from lading.ports.cri import ImageSpec


def pull_schedule(
    desired: Desired, admitted: frozenset[ImageKey], observed: ObservedNodeImages, now: datetime
) -> tuple[Action, ...]:
    cancelled = tuple(_cancellations(desired, observed, now))
    if rules.node_problem(observed, desired.node_name) is not None:
        return cancelled
    if rules.space_is_exhausted(desired, observed, now):
        return cancelled
    tags = rules.tags_to_pull(desired, observed)
    startable = {
        key
        for image_set in desired.sets
        for key in image_set.images
        if (key in admitted or key in tags) and _may_start(key, image_set, desired, observed, now)
    }
    running = {key for key, pull in observed.pulls.items() if pull.running}
    staying = running - {action.key for action in cancelled}
    if desired.settings.behind_cache:
        startable = _first_with_its_layers(startable, admitted, desired, observed)
    ordered = pull_order(startable, desired, observed)
    chosen = _within_the_cap(ordered, staying, desired.settings.parallel_pulls_max)
    here = rules.layers_present(observed) if chosen else frozenset()
    return (*cancelled, *(_start(key, observed, here, tags.get(key, "")) for key in chosen))


def _cancellations(
    desired: Desired, observed: ObservedNodeImages, now: datetime
) -> Iterable[CancelPull]:
    """A running pull of an image that is listed already is left alone: it is about to end."""
    wanted, tags = rules.wanted_images(desired), rules.tags_to_pull(desired, observed)
    for key, pull in sorted(observed.pulls.items()):
        if key not in wanted:
            yield CancelPull(key=key, because="no set wants it any more")
        elif key in observed.images and key not in tags and not pull.running:
            yield CancelPull(key=key, because="the image is on the node")
        elif observed.disk_pressure and pull.running:
            because = f"node {desired.node_name} reports DiskPressure"
            yield CancelPull(key=key, because=because)
        elif (stalls_at := rules.stalls_at(pull, desired, now)) and stalls_at <= now:
            limit = durations.format_duration(desired.settings.pull_progress_timeout)
            because = f"the pull made no progress for {limit} and was cancelled"
            yield CancelPull(key=key, because=because, is_stalled=True)


def _may_start(
    key: ImageKey,
    image_set: DesiredSet,
    desired: Desired,
    observed: ObservedNodeImages,
    now: datetime,
) -> bool:
    pull = observed.pulls.get(key)
    if not rules.can_be_pulled(key, observed) or (pull is not None and pull.running):
        return False
    retry = rules.retry_at(key, pull, desired, now) if pull is not None else None
    full = rules.retry_without_space_at(key, pull, desired, observed, now) if pull else None
    removed = rules.removed_image_pulled_at(key, desired, observed, now)
    waits = (rules.starts_at(image_set, desired, observed, now), retry, full, removed)
    return all(instant is None or instant <= now for instant in waits)


def _first_with_its_layers(
    startable: set[ImageKey],
    admitted: frozenset[ImageKey],
    desired: Desired,
    observed: ObservedNodeImages,
) -> set[ImageKey]:
    """Leaves out images that share a layer with an image of another repository.

    A cache keeps a layer for the repository that it was pulled from, and fetches it again for
    another one. So every node must pull a shared layer from the same repository. It is that of
    the smallest image, because the others wait for it. To find it, every image of the registry
    must be resolved, or have failed to resolve.
    """
    wanted = rules.wanted_images(desired)
    known = observed.resolutions.keys() | observed.unresolved.keys()
    unsettled = {key.registry for key in wanted - known}
    here = rules.layers_present(observed)
    brought_by: dict[tuple[str, Layer], str] = {}
    for key in sorted(admitted, key=lambda key: _rank_behind_cache(key, observed)):
        if _is_coming(key, observed):
            for layer in rules.layers_of([key], observed) - here:
                brought_by.setdefault((key.registry, layer), key.repository)
    return {
        key
        for key in startable
        if key.registry not in unsettled
        and all(
            brought_by.get((key.registry, layer), key.repository) == key.repository
            for layer in rules.layers_of([key], observed)
        )
    }


def _rank_behind_cache(key: ImageKey, observed: ObservedNodeImages) -> tuple[bool, int, ImageKey]:
    """Running pulls first, then the smallest image: the order is the same on all nodes."""
    pull, found = observed.pulls.get(key), observed.resolutions.get(key)
    is_running = pull is not None and pull.running
    return not is_running, found.size_bytes if found else 0, key


def _is_coming(key: ImageKey, observed: ObservedNodeImages) -> bool:
    """Its pull runs or starts soon. An image that failed or was removed does not delay others."""
    pull = observed.pulls.get(key)
    if pull is not None and pull.running:
        return True
    return (pull is None or pull.error is None) and key not in observed.past_pulls


def pull_order(
    keys: Iterable[ImageKey], desired: Desired, observed: ObservedNodeImages
) -> tuple[ImageKey, ...]:
    """Small images first, so that many are here soon; then the large ones, the largest first.

    If a large image were pulled last, the node would wait for it alone. An image is small if it
    is below the mean of all wanted images.
    """
    sizes = {key: found.size_bytes for key in keys if (found := observed.resolutions.get(key))}
    mean_bytes = rules.mean_image_bytes(desired, observed) if sizes else 0
    small = sorted((size, key) for key, size in sizes.items() if size <= mean_bytes)
    large = sorted((-size, key) for key, size in sizes.items() if size > mean_bytes)
    unknown = sorted(key for key in keys if key not in sizes)
    return (*(key for _, key in small), *(key for _, key in large), *unknown)


def _within_the_cap(
    ordered: tuple[ImageKey, ...], running: set[ImageKey], at_once_max: int
) -> tuple[ImageKey, ...]:
    """The next pulls. A registry that hangs must not block the others.

    So the first image of a registry without a running pull may exceed the limit, up to twice it.
    """
    served = {key.registry for key in running}
    first_of = {key.registry: key for key in reversed(ordered) if key.registry not in served}
    firsts = tuple(key for key in ordered if first_of.get(key.registry) == key)
    others = (key for key in ordered if first_of.get(key.registry) != key)
    free = at_once_max - len(running)
    return (*firsts, *others)[: max(free, min(len(firsts), free + at_once_max), 0)]


def _start(
    key: ImageKey, observed: ObservedNodeImages, here: frozenset[Layer], tag: str
) -> StartPull:
    """`tag` is a missing name of an image that is here."""
    return StartPull(
        key=key,
        spec=ImageSpec(image=tag) if tag else _spec(key, observed),
        new_bytes=rules.bytes_of(rules.layers_of([key], observed) - here),
        free_bytes=observed.budget.free_bytes if observed.budget else 0,
        because="a set wants it on this node",
    )


def _spec(key: ImageKey, observed: ObservedNodeImages) -> ImageSpec:
    if rules.manifest_is_ours_to_choose(key, observed):
        manifest = observed.resolutions[key].manifest
        return ImageSpec(image=manifest, user_specified_image=key.image)
    return ImageSpec(image=key.image, runtime_handler=key.runtime_handler)
