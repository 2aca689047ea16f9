"""Programs that know credentials: docker's helpers and the kubelet's plugins, as real scripts."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lading.adapters import programs
from lading.adapters.clock import VirtualClock
from lading.adapters.programs import Program, ProgramFailed
from lading.adapters.registry import credential_providers, endpoints
from lading.adapters.registry.auth_files import AuthFile
from lading.adapters.registry.credential_helpers import HelperSource
from lading.adapters.registry.credential_providers import ProviderConfig, ProviderSource
from lading.ports.registry import Credential

APP = endpoints.endpoint_at("example.test", "team/app")


@dataclass(slots=True)
class Bench:
    """A folder of programs, a clock, and the problems that were reported."""

    folder: Path
    clock: VirtualClock = field(default_factory=VirtualClock)
    problems: list[str] = field(default_factory=list)

    def program(self, name: str, body: str) -> None:
        """A script that notes each run with its input, then does what `body` says."""
        script = self.folder / name
        text = f'#!/bin/sh\ninput=$(cat)\necho "$* $input" >> "{self.folder}/runs"\n{body}\n'
        script.write_text(text)
        script.chmod(0o755)

    @property
    def runs(self) -> list[str]:
        notes = self.folder / "runs"
        return notes.read_text().splitlines() if notes.exists() else []

    def helper(self, **fields: Any) -> HelperSource:
        return HelperSource(AuthFile(**fields), self.clock, self.problems.append)

    def provider(self, **changes: Any) -> ProviderSource:
        [provider] = self.config(**changes).providers
        return ProviderSource(provider, self.clock, self.problems.append)

    def config(self, **changes: Any) -> ProviderConfig:
        entry = {
            "name": "plugin",
            "matchImages": ["*.test"],
            "defaultCacheDuration": "10m",
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            **changes,
        }
        document = {
            "apiVersion": "kubelet.config.k8s.io/v1",
            "kind": "CredentialProviderConfig",
            "providers": [entry],
        }
        content = json.dumps(document).encode()
        return credential_providers.parse(content, name="config.yaml", folder=self.folder)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Bench(tmp_path)


ANSWER = """echo '{"ServerURL":"x","Username":"u","Secret":"p"}'"""


async def test_a_helper_is_asked_for_its_host_once(bench: Bench) -> None:
    bench.program("docker-credential-store", ANSWER)
    source = bench.helper(helper_by_pattern={"example.test": "store"})
    for _ in range(3):
        assert await source.find(APP) == (Credential(username="u", password="p"),)
    assert bench.runs == ["get example.test"]


async def test_the_default_helper_is_asked_for_any_host(bench: Bench) -> None:
    bench.program("docker-credential-store", ANSWER)
    hub = endpoints.endpoint_at("docker.io", "library/app")
    await bench.helper(default_helper="store").find(hub)
    assert bench.runs == ["get https://index.docker.io/v1/"]


async def test_a_helper_is_asked_again_after_a_call_to_forget(bench: Bench) -> None:
    bench.program("docker-credential-store", ANSWER)
    source = bench.helper(default_helper="store")
    await source.find(APP)
    assert source.forget(APP)
    assert not source.forget(APP)
    await source.find(APP)
    assert len(bench.runs) == 2


async def test_a_helper_may_answer_an_identity_token(bench: Bench) -> None:
    bench.program("docker-credential-store", """echo '{"Username":"<token>","Secret":"refresh"}'""")
    found = await bench.helper(default_helper="store").find(APP)
    assert found == (Credential(identity_token="refresh"),)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("echo no such thing >&2; exit 1", "no such thing"),
        ("echo nothing", "no JSON"),
        (r"""printf '{"Username":"\377"}'""", "no JSON"),
    ],
)
async def test_a_helper_that_fails_is_reported_and_has_nothing(
    bench: Bench, body: str, problem: str
) -> None:
    bench.program("docker-credential-store", body)
    assert await bench.helper(default_helper="store").find(APP) == ()
    assert problem in bench.problems[0]


async def test_a_helper_that_has_nothing_for_the_host_is_no_problem(bench: Bench) -> None:
    script = "echo credentials not found in native keychain; exit 1"
    bench.program("docker-credential-store", script)
    assert await bench.helper(default_helper="store").find(APP) == ()
    assert bench.problems == []


async def test_a_helper_that_is_not_installed_is_reported(bench: Bench) -> None:
    assert await bench.helper(default_helper="absent").find(APP) == ()
    assert "cannot be started" in bench.problems[0]


async def test_a_helper_cannot_be_a_path(bench: Bench) -> None:
    assert await bench.helper(default_helper="../../bin/sh").find(APP) == ()
    assert "must not hold" in bench.problems[0]


def provider_answer(key_type: str = "Registry", **extra: Any) -> str:
    document = {
        "kind": "CredentialProviderResponse",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "cacheKeyType": key_type,
        "auth": {"*.test": {"username": "u", "password": "p"}},
        **extra,
    }
    return f"echo '{json.dumps(document)}'"


async def test_a_provider_gets_the_image_and_its_answer_is_used(bench: Bench) -> None:
    bench.program("plugin", provider_answer())
    source = bench.provider(args=["--for", "tests"])
    assert await source.find(APP) == (Credential(username="u", password="p"),)
    arguments, _, request = bench.runs[0].partition(" {")
    assert arguments == "--for tests"
    assert json.loads("{" + request) == {
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "kind": "CredentialProviderRequest",
        "image": "example.test/team/app",
    }


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
async def test_a_provider_is_asked_in_the_version_that_it_speaks(
    bench: Bench, version: str
) -> None:
    protocol = f"credentialprovider.kubelet.k8s.io/{version}"
    bench.program("plugin", provider_answer(apiVersion=protocol))
    assert await bench.provider(apiVersion=protocol).find(APP)
    assert f'"apiVersion":"{protocol}"' in bench.runs[0]


@pytest.mark.parametrize(
    "wrong", [{"apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1"}, {"kind": "Status"}]
)
async def test_an_answer_of_another_kind_is_reported_and_not_used(
    bench: Bench, wrong: dict[str, str]
) -> None:
    bench.program("plugin", provider_answer(**wrong))
    assert await bench.provider().find(APP) == ()
    assert "expected credentialprovider.kubelet.k8s.io/v1" in bench.problems[0]


@pytest.mark.parametrize("body", ["echo nothing", r"""printf '{"kind":"\377"}'"""])
async def test_a_provider_that_answers_no_json_is_reported(bench: Bench, body: str) -> None:
    bench.program("plugin", body)
    assert await bench.provider().find(APP) == ()
    assert "plugin: expected JSON" in bench.problems[0]


async def test_a_provider_that_can_do_without_a_token_is_asked_without(bench: Bench) -> None:
    bench.program("plugin", provider_answer())
    attributes = {"serviceAccountTokenAudience": "x", "requireServiceAccount": False}
    assert await bench.provider(tokenAttributes=attributes).find(APP)
    assert "serviceAccountToken" not in bench.runs[0]


@pytest.mark.parametrize(
    ("glob", "host", "repository", "is_asked"),
    [
        ("*.dkr.ecr.*.amazonaws.com", "1234.dkr.ecr.eu-west-1.amazonaws.com", "app", True),
        ("*.dkr.ecr.*.amazonaws.com", "1234.dkr.ecr.eu-west-1.amazonaws.com.cn", "app", False),
        ("*.pkg.dev", "europe-west1-docker.pkg.dev", "project/repository/app", True),
        ("gcr.io", "eu.gcr.io", "app", False),
        ("*.azurecr.io", "team.azurecr.io", "app", True),
        ("*.azurecr.io", "team.eu.azurecr.io", "app", False),
        ("registry.test:8080/path", "registry.test:8080", "path/app", True),
        ("registry.test:8080/path", "registry.test", "path/app", False),
        ("app*.registry.test", "apps.registry.test", "app", True),
        ("docker.io", "docker.io", "library/app", True),
    ],
)
async def test_a_provider_is_asked_for_the_images_that_the_kubelet_would_ask_it_for(
    bench: Bench, glob: str, host: str, repository: str, is_asked: bool
) -> None:
    bench.program("plugin", provider_answer())
    await bench.provider(matchImages=[glob]).find(endpoints.endpoint_at(host, repository))
    assert bool(bench.runs) == is_asked


async def test_a_provider_gets_its_environment(bench: Bench) -> None:
    bench.program("plugin", 'echo "$REGION" >&2; exit 1')
    await bench.provider(env=[{"name": "REGION", "value": "north"}]).find(APP)
    assert "north" in bench.problems[0]


async def test_a_provider_is_not_asked_for_images_of_others(bench: Bench) -> None:
    bench.program("plugin", provider_answer())
    other = endpoints.endpoint_at("example.org", "app")
    assert await bench.provider().find(other) == ()
    assert bench.runs == []


@pytest.mark.parametrize(
    ("key_type", "runs"), [("Image", 3), ("Registry", 2), ("Global", 1), ("Wrong", 4)]
)
async def test_an_answer_is_kept_for_what_it_says(bench: Bench, key_type: str, runs: int) -> None:
    bench.program("plugin", provider_answer(key_type))
    source = bench.provider()
    for host, repository in (
        ("example.test", "a"),
        ("example.test", "a"),
        ("example.test", "b"),
        ("another.test", "a"),
    ):
        assert await source.find(endpoints.endpoint_at(host, repository))
    assert len(bench.runs) == runs


@pytest.mark.parametrize(
    ("extra", "seconds", "runs"),
    [
        ({}, 599, 1),
        ({}, 601, 2),
        ({"cacheDuration": "1h"}, 3599, 1),
        ({"cacheDuration": "0s"}, 0, 2),
    ],
    ids=["default, in time", "default, over", "own, in time", "never"],
)
async def test_an_answer_is_kept_as_long_as_it_says(
    bench: Bench, extra: dict[str, str], seconds: float, runs: int
) -> None:
    bench.program("plugin", provider_answer(**extra))
    source = bench.provider()
    await source.find(APP)
    await bench.clock.advance(seconds)
    await source.find(APP)
    assert len(bench.runs) == runs


async def test_a_provider_is_asked_again_after_a_call_to_forget(bench: Bench) -> None:
    bench.program("plugin", provider_answer())
    source = bench.provider()
    await source.find(APP)
    assert source.forget(APP)
    await source.find(APP)
    assert len(bench.runs) == 2


async def test_a_provider_without_a_credential_for_the_image_has_nothing(bench: Bench) -> None:
    bench.program("plugin", provider_answer(auth={"*.org": {"username": "u", "password": "p"}}))
    assert await bench.provider().find(APP) == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "../plugin"}, "provider name"),
        ({"apiVersion": "credentialprovider.kubelet.k8s.io/v2"}, "apiVersion"),
        ({"tokenAttributes": {"requireServiceAccount": True}}, "only the kubelet has"),
        ({"matchImages": []}, "matchImages"),
        ({"defaultCacheDuration": "soon"}, "duration"),
        ({"args": "text"}, "args"),
    ],
)
def test_a_malformed_provider_is_left_out_and_named(
    bench: Bench, changes: dict[str, Any], problem: str
) -> None:
    config = bench.config(**changes)
    assert config.providers == ()
    assert "providers[0]" in config.problems[0]
    assert problem in config.problems[0]


@pytest.mark.parametrize("content", [b"", b"{", b"kind: Pod", b"apiVersion: v1\nproviders: []"])
def test_something_that_is_no_provider_configuration_is_a_problem(content: bytes) -> None:
    config = credential_providers.parse(content, name="config.yaml", folder=Path())
    assert "CredentialProviderConfig" in config.problems[0]


async def test_a_program_that_does_not_end_is_stopped(bench: Bench) -> None:
    bench.program("slow", "exec sleep 30")
    with pytest.raises(ProgramFailed, match=r"did not end within 0\.2 s"):
        await Program(command=(str(bench.folder / "slow"),)).run(b"", seconds_max=0.2)


async def test_a_program_that_prints_without_end_is_stopped(bench: Bench) -> None:
    bench.program("loud", "exec yes")
    with pytest.raises(ProgramFailed, match=str(programs.OUTPUT_BYTES_MAX)):
        await Program(command=(str(bench.folder / "loud"),)).run(b"")
