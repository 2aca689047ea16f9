"""Fixtures of real components, each started once per run when first asked for.

What a component wrote last is shown with every test that fails while it runs.
"""

from collections.abc import Generator, Iterator

import pytest

from tests.real.bed import api_server as api_server_bed
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import containerd, crio, processes, registry, runtime, sandbox
from tests.real.setup import families

TEST_SECONDS_MAX = 600
"""The first test that asks for a component waits for its start; some are whole suites."""
COMPONENTS_OF_FIXTURES = {
    "registry_2_8": {"registry"},
    "registry_3_1": {"registry"},
    "containerd_2_3": {"containerd"},
    "containerd_1_7": {"containerd"},
    "containerd_1_6": {"containerd"},
    "crio_1_36": {"cri-o"},
    "api_server": {"kube"},
    "cluster": {"kube", "containerd"},
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--only", metavar="WORD,WORD", help="tests that need no other components")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "components(word, ...): what a test starts by itself")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(TEST_SECONDS_MAX))
    if only := config.getoption("only"):
        available = families.with_needed(only.split(","))
        left_out = [item for item in items if not _components(item) <= available]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _components(item: pytest.Item) -> set[str]:
    marked = {word for marker in item.iter_markers("components") for word in marker.args}
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return marked.union(*(COMPONENTS_OF_FIXTURES.get(name, set()) for name in fixtures))


@pytest.fixture(scope="session")
def registry_2_8() -> Iterator[registry.Registry]:
    with registry.registry("2.8") as running:
        yield running


@pytest.fixture(scope="session")
def registry_3_1() -> Iterator[registry.Registry]:
    with registry.registry("3.1") as running:
        yield running


@pytest.fixture(scope="session")
def containerd_2_3(registry_3_1: registry.Registry) -> Iterator[runtime.Runtime]:
    with containerd.containerd("2.3", registries=[registry_3_1]) as running:
        yield running


@pytest.fixture(scope="session")
def containerd_1_7(registry_3_1: registry.Registry) -> Iterator[runtime.Runtime]:
    with containerd.containerd("1.7", registries=[registry_3_1]) as running:
        yield running


@pytest.fixture(scope="session")
def containerd_1_6(registry_3_1: registry.Registry) -> Iterator[runtime.Runtime]:
    with containerd.containerd("1.6", registries=[registry_3_1]) as running:
        yield running


@pytest.fixture(scope="session")
def crio_1_36(registry_3_1: registry.Registry) -> Iterator[runtime.Runtime]:
    with crio.crio(registries=[registry_3_1]) as running:
        yield running


@pytest.fixture(scope="session")
def api_server() -> Iterator[api_server_bed.ApiServer]:
    with api_server_bed.api_server() as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[cluster_bed.Cluster]:
    with cluster_bed.cluster() as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for process in _running():
            report.sections.append((f"{process.name} ({process.log})", process.log_tail()))
    return report


def _running() -> list[processes.Process]:
    return [process for place in sandbox.OPEN for process in place.started]
