"""One list of kubectl commands on the embedded server and on a real one: the same is printed.

What differs on purpose is in differential/known.yaml, line by line, with a reason that
docs/contributors/fidelity.md explains. Anything else fails, and so does an entry that no longer
differs.
"""

import concurrent.futures
import pathlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.real.differential import known, scenarios, servers, transcript
from tests.real.differential.known import Difference
from tests.real.differential.scenarios import Scenario
from tests.real.differential.transcript import Kubectl, Transcript

FIDELITY = transcript.ROOT / "docs" / "contributors" / "fidelity.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    kubeconfigs: tuple[pathlib.Path, pathlib.Path]
    """Of the real one and of the embedded one."""

    def kubectls(self) -> list[Kubectl]:
        return [
            Kubectl(kubeconfig=path, folder=path.parent / "kubectl") for path in self.kubeconfigs
        ]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("embedded")
    with servers.real() as real, servers.embedded(folder) as embedded:
        found = Servers(kubeconfigs=(real, embedded))
        for kubectl in found.kubectls():
            _must(kubectl, "apply", "--server-side", "-f", "deploy/crds")
            _must(kubectl, "wait", "--for=condition=Established", "crd", "--all")
        yield found


@pytest.mark.components("kube")
@pytest.mark.parametrize("scenario", scenarios.every(), ids=lambda scenario: scenario.name)
def test_both_servers_print_the_same(both: Servers, scenario: Scenario) -> None:
    assert _difference(scenario, both.kubectls()) == known.of(scenario.name)


@pytest.mark.parametrize("difference", known.every(), ids=lambda each: each.step)
def test_a_known_difference_is_explained(difference: Difference) -> None:
    assert difference.scenario in {each.name for each in scenarios.every()}
    assert f"\n### {difference.reason}\n" in FIDELITY.read_text()


def _difference(scenario: Scenario, kubectls: list[Kubectl]) -> Transcript:
    """On every server in a namespace of the same name, so that columns are equally wide."""
    namespace = f"d-{secrets.token_hex(3)}"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        real, embedded = pool.map(lambda one: _run(scenario, one, namespace), kubectls)
    found = {title: known.difference(real[title], embedded[title]) for title in real}
    return {title: lines for title, lines in found.items() if lines}


def _run(scenario: Scenario, kubectl: Kubectl, namespace: str) -> Transcript:
    _must(kubectl, "create", "namespace", namespace)
    _must(kubectl, "create", "serviceaccount", "default", f"--namespace={namespace}")
    try:
        return transcript.of(scenario, kubectl, namespace)
    finally:
        _must(kubectl, "delete", "namespace", namespace, "--wait=false")


def _must(kubectl: Kubectl, *arguments: str) -> None:
    done = kubectl.run(*arguments)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
