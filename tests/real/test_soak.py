"""Agent, runtime, API server, etcd and controller are killed at random; no claim is ever false."""

import dataclasses
import os
import random
import secrets
from pathlib import Path

import pytest

from tests.e2e import door, private_registry
from tests.e2e.judge import Judge
from tests.real import under_test
from tests.real.bed import api_server, containerd, crio, registry, sandbox
from tests.real.claims_under_test import ClaimWatch
from tests.real.soak import CONVERGED_SECONDS_MAX, Soak

SOAK_SECONDS = int(os.environ.get("LADING_RACE_SECONDS", "20"))
SEED = os.environ.get("LADING_SOAK_SEED", "")
START_SECONDS_MAX = 300


@pytest.mark.timeout(SOAK_SECONDS + CONVERGED_SECONDS_MAX + START_SECONDS_MAX)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("containerd", marks=pytest.mark.components("kube", "containerd", "registry")),
        pytest.param("cri-o", marks=pytest.mark.components("kube", "cri-o", "registry")),
    ],
)
async def test_kills_of_every_part_lose_nothing(
    kind: str, registry_3_1: registry.Registry, tmp_path: Path
) -> None:
    seed = SEED or secrets.token_hex(4)
    print(f"To repeat: make soak SECONDS={SOAK_SECONDS} SEED={seed}")
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        async with (
            door.before(registry_3_1.host) as front,
            private_registry.opened(tmp_path) as private,
        ):
            plain = [registry_3_1, dataclasses.replace(registry_3_1, host=front.host)]
            if kind == "cri-o":
                engine = crio.start(place, registries=plain)
            else:
                engine = containerd.start(place, "2.3", registries=plain)
            async with under_test.on_runtime(server, engine, front, private, tmp_path) as cluster:
                judge = Judge()
                soak = Soak(
                    cluster=cluster,
                    place=place,
                    engine=engine,
                    claims=ClaimWatch(cluster=cluster, judge=judge),
                    draw=random.Random(f"{kind} {seed}"),
                )
                await soak.run(SOAK_SECONDS)
                print(f"{judge.checked} claims were checked in {soak.rounds} rounds")
                assert judge.checked
