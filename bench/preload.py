"""Preloading a node, against the other ways to do it, as ratios of seconds on the same containerd.

    python -m bench.preload        (needs root and `make real-setup`)

60 images of 1 to 60 MB with shared layers come from a real registry, once behind a line with a
latency per request and a rate limit per connection, once over bare loopback. All ways take turns,
every image is removed in between, and medians count: other work on the machine hits all alike.
Ours includes resolving every image, writing the pins and reading them back.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from bench import preload_images, preload_ways, shaped_registry
from bench.preload_ways import Took, Way
from bench.shaped_registry import Shape
from lading.observability import logs
from lading.observability.logs import LogFormat
from tests.real.bed import containerd, registry
from tests.real.bed.runtime import Runtime

ROUNDS = 3
CAPS = (2, 4, 8, 16, 32)
SHAPE = Shape(latency_seconds=0.030, connection_bytes_per_second=20e6)
REMOVAL_SECONDS_MAX = 60.0
POLL_SECONDS = 0.1
SERIAL_RATIO_MIN = 2.0
ANCHOR_RATIO_MIN = 1.5
PARALLEL_RATIO_MAX = 1.05
LADING = "lading"
SERIAL = "serial"
ANCHOR = "anchor"


def parallel(cap: int) -> str:
    return f"parallel_{cap}"


WAYS: Mapping[str, Way] = {
    LADING: preload_ways.lading,
    SERIAL: preload_ways.SERIAL,
    ANCHOR: preload_ways.ANCHOR,
    **{parallel(cap): preload_ways.crictl(cap) for cap in CAPS},
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    runtime: Runtime
    images: Sequence[str]
    """Without their registry."""
    hosts: Mapping[str, str]
    """How the line is called -> the registry at its end."""
    megabytes: float


@contextlib.contextmanager
def bed() -> Iterator[Bed]:
    with (
        registry.registry("3.1") as real,
        shaped_registry.before(real.host, SHAPE) as shaped_host,
        containerd.containerd("2.3", registries=[real]) as runtime,
    ):
        shaped = dataclasses.replace(real, host=shaped_host)
        containerd.allow_plain_http(runtime.conf_dir, shaped)
        images, size_bytes = asyncio.run(preload_images.push(real.host))
        yield Bed(
            runtime=runtime,
            images=images,
            hosts={"shaped": shaped_host, "loopback": real.host},
            megabytes=size_bytes / 1e6,
        )


def measure(place: Bed, line: str) -> dict[str, list[Took]]:
    """All ways in turns, so that what else the machine does hits all alike."""
    images = [f"{place.hosts[line]}/{image}" for image in place.images]
    took: dict[str, list[Took]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            os.sync()
            took[name].append(asyncio.run(way(place.runtime, images)))
            print(f"{line:10}{name:14}{took[name][-1]}", file=sys.stderr, flush=True)
            remove(place.runtime, images)
    return took


def remove(runtime: Runtime, images: Sequence[str]) -> None:
    """Returns when the layers are gone too: containerd collects them on its own."""
    runtime.crictl("rmi", *images)
    deadline = time.monotonic() + REMOVAL_SECONDS_MAX
    blobs = runtime.root / "io.containerd.content.v1.content" / "blobs" / "sha256"
    while any(blobs.iterdir()):
        assert time.monotonic() < deadline, f"{runtime.endpoint} did not remove its layers"
        time.sleep(POLL_SECONDS)


def ratios(line: str, took: Mapping[str, Sequence[Took]]) -> dict[str, float]:
    all_, half = (
        {name: statistics.median(part(one) for one in runs) for name, runs in took.items()}
        for part in (attrgetter("all_seconds"), attrgetter("half_seconds"))
    )
    best_cap = min(CAPS, key=lambda cap: all_[parallel(cap)])
    best = parallel(best_cap)
    return {
        f"{line}_serial_over_lading": all_[SERIAL] / all_[LADING],
        f"{line}_anchor_over_lading": all_[ANCHOR] / all_[LADING],
        f"{line}_lading_over_best_parallel": all_[LADING] / all_[best],
        f"{line}_lading_over_best_parallel_undisturbed": undisturbed(took),
        f"{line}_half_of_best_parallel_over_half_of_lading": half[best] / half[LADING],
        f"{line}_best_parallel_cap": float(best_cap),
        **{f"{line}_{name}_seconds": seconds for name, seconds in all_.items()},
    }


def undisturbed(took: Mapping[str, Sequence[Took]]) -> float:
    """The same ratio of each one's best run: other work only ever makes a run worse."""
    least = {name: min(one.all_seconds for one in runs) for name, runs in took.items()}
    return least[LADING] / min(least[parallel(cap)] for cap in CAPS)


def shares_of_limits(numbers: Mapping[str, float]) -> dict[str, float]:
    """What is promised of the shaped line; 1 or less is kept."""
    return {
        "serial_share_of_limit": SERIAL_RATIO_MIN / numbers["shaped_serial_over_lading"],
        "anchor_share_of_limit": ANCHOR_RATIO_MIN / numbers["shaped_anchor_over_lading"],
        "best_parallel_share_of_limit": numbers["shaped_lading_over_best_parallel"]
        / PARALLEL_RATIO_MAX,
    }


def run() -> dict[str, float]:
    logs.configure(LogFormat.CONSOLE, "warning")
    with bed() as place:
        numbers = {
            "images": float(preload_images.IMAGES),
            "megabytes_to_pull": place.megabytes,
            "latency_milliseconds": SHAPE.latency_seconds * 1e3,
            "connection_megabytes_per_second": SHAPE.connection_bytes_per_second / 1e6,
            "rounds": float(ROUNDS),
        }
        for line in place.hosts:
            numbers |= ratios(line, measure(place, line))
    return numbers | shares_of_limits(numbers)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
