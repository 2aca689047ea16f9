"""Keeps plans pure, files small, and tests where a reader looks for them.

import-linter keeps the direction of imports (pyproject.toml). Only syntax trees are read here.
Each rule is one test; its failure lists every place that breaks the rule.
"""

import ast
import functools
import pathlib
from collections.abc import Iterator

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "lading"
TESTS = pathlib.Path(__file__).parent
FEATURES = {
    *(path.parent.name for path in SOURCE.glob("*/feature.py") if path.parent.name != "loop"),
    *("pruning", "installation"),
}
WORKLOADS = SOURCE / "embedded" / "workloads"
PURE_FILES = {"types.py", "plan.py", "rules.py"}
IMPURE_MODULES = {
    "asyncio", "grpc", "grpclib", "aiohttp", "logging", "os", "pathlib", "random",
    "secrets", "socket", "structlog", "subprocess", "tempfile", "threading", "time",
    "lading.adapters", "lading.loop", "lading.observability",
    "lading.embedded.cri", "lading.embedded.kube", "lading.embedded.registry",
}  # fmt: skip
WHOLE_SYSTEM_TESTS = {
    "bench/test_names.py",
    "bench/test_shaped_registry.py",
    "cli/test_docs.py",
    "cli/test_imports.py",
    "observability/test_docs.py",
    "pinned_images/cluster/test_any_cluster.py",
    "pinned_images/node/test_lives.py",
    "pinned_images/test_counts.py",
    "pinned_images/test_rough_handling.py",
    "pruning/test_hostile.py",
    "pruning/test_promises.py",
    "pruning/test_promises_streams.py",
    "test_makefile.py",
    "test_tidy.py",
}
"""What a whole command, node, cluster or repository does; no one module does it."""
WHOLE_SYSTEM_FOLDERS = {
    "docs",
    "browser",
    "conformance",
    "deploy",
    "e2e",
    "fuzz",
    "real",
    "release",
    "security",
}
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60


def modules() -> list[pathlib.Path]:
    return sorted(
        path for path in SOURCE.rglob("*.py") if not path.stem.endswith(("_pb2", "_pb2_grpc"))
    )


def module_id(path: pathlib.Path) -> str:
    return str(path.relative_to(SOURCE))


@functools.cache
def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: pathlib.Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_package(path: pathlib.Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_pure(path: pathlib.Path) -> bool:
    """By its package, by its name, or because it says so itself."""
    if own_package(path) == "kernel":
        return True
    docstring = ast.get_docstring(tree_of(path)) or ""
    says_so = docstring.partition("\n")[0].endswith(" Pure.")
    is_pipeline = own_package(path) in FEATURES or path.is_relative_to(WORKLOADS)
    return is_pipeline and (path.name in PURE_FILES or says_so)


def test_pure_files_touch_nothing_outside() -> None:
    pure = [path for path in modules() if is_pure(path)]
    assert pure
    assert [found for path in pure for found in _effects(path)] == []


def _effects(path: pathlib.Path) -> Iterator[str]:
    for name in imported(path):
        if any(name == impure or name.startswith(f"{impure}.") for impure in IMPURE_MODULES):
            yield f"{module_id(path)} imports {name}"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global):
            yield f"{module_id(path)}:{node.lineno} is async, or has a global"
        if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today"):
            yield f"{module_id(path)}:{node.lineno} reads a clock"


def unit_tests() -> list[str]:
    found = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(str(one) for one in found if one.parts[0] not in WHOLE_SYSTEM_FOLDERS)


def test_a_test_module_is_named_after_the_module_it_tests() -> None:
    """With a topic behind the name where one module has several: test_client_watch.py."""
    named = (name for name in unit_tests() if name not in WHOLE_SYSTEM_TESTS)
    assert [name for name in named if not _is_named_after_a_module(pathlib.PurePath(name))] == []


def _is_named_after_a_module(path: pathlib.PurePath) -> bool:
    words = path.stem.split("_")[1:]
    named = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
    return bool(
        named & {path.parent.name, *(one.stem for one in (SOURCE / path.parent).rglob("*"))}
    )


def test_builders_are_not_imported_from_test_modules() -> None:
    files = [*TESTS.rglob("*.py"), *(TESTS.parent / "bench").rglob("*.py")]
    ours = (
        f"{path.relative_to(TESTS.parent)} imports {name}"
        for path in files
        for name in imported(path)
        if name.startswith(("tests.", "bench."))
        and any(step.startswith("test_") for step in name.split("."))
    )
    assert list(ours) == []


def test_random_worlds_are_drawn_by_hypothesis() -> None:
    """`make fuzz` draws anew only what hypothesis draws; a fixed list of seeds stays the same."""
    lists = (
        f"{name}:{node.lineno}"
        for name in unit_tests()
        for node in ast.walk(tree_of(TESTS / name))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("parametrize")
        and "seed" in ast.unparse(node.args[0])
    )
    assert list(lists) == []


def test_no_test_is_excused_that_is_gone() -> None:
    assert set(unit_tests()) >= WHOLE_SYSTEM_TESTS


WHOLE_KINDS = "embedded/workloads/kinds.py"


def test_no_public_class_name_stands_for_two_things() -> None:
    """Each port has errors of its own, and the embedded servers have the words of their protocols.

    The workload controllers of a standalone cluster read kinds whole that others read in part.
    """
    found: dict[str, list[str]] = {}
    for path in modules():
        if own_package(path) not in ("embedded", "ports") and module_id(path) != WHOLE_KINDS:
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(module_id(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_files_and_functions_stay_small_and_say_what_they_are() -> None:
    assert [found for path in modules() for found in _oversights(path)] == []


def _oversights(path: pathlib.Path) -> Iterator[str]:
    if not ast.get_docstring(tree_of(path)):
        yield f"{module_id(path)} does not say what it is for"
    if path.read_text(encoding="utf-8").count("\n") > FILE_LINES_MAX:
        yield f"{module_id(path)} has more than {FILE_LINES_MAX} lines"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{module_id(path)}:{node.lineno} {node.name} has {length} lines"
