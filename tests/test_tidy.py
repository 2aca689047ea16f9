"""Keeps the layers: what may be imported from where, who constructs adapters, what is pure.

It also keeps tests where a reader looks: a test module is named after the module it tests.
Reads syntax trees only; nothing is imported or run.
"""

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "lading"
FEATURES = {
    *(path.parent.name for path in SOURCE.glob("*/feature.py") if path.parent.name != "loop"),
    *("pruning", "installation"),
}
WORKLOADS = SOURCE / "standalone" / "workloads"
LAYERS: tuple[set[str], ...] = (
    {"kernel"},
    {"api", "files", "wire"},
    {"ports"},
    {"adapters", "servers", "loop", "observability"} | FEATURES,
    {"wiring"},
    {"standalone", "sim"},
    {"cli", "web"},
    {"__main__"},
)
PURE_FILES = {"types.py", "plan.py", "rules.py"}
IMPURE_MODULES = {
    "asyncio", "grpc", "hpack", "aiohttp", "logging", "os", "pathlib", "random",
    "secrets", "socket", "structlog", "subprocess", "tempfile", "threading", "time",
    "lading.adapters", "lading.loop", "lading.observability", "lading.servers",
}  # fmt: skip
CONSTRUCTED = ("lading.adapters", "lading.servers")
PLAIN_FUNCTIONS = {
    "lading.adapters.kube.discovery",
    "lading.adapters.kube.requests",
}
"""Modules of adapters that construct none: any package may call their functions."""
TESTS = pathlib.Path(__file__).parent
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


def imported(path: pathlib.Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute, so that a reader sees the package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_pure(path: pathlib.Path) -> bool:
    """By its package, by its name, or because it says so itself."""
    if own_package(path) == "kernel":
        return True
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    says_so = docstring.partition("\n")[0].endswith(" Pure.")
    is_pipeline = own_package(path) in FEATURES or path.is_relative_to(WORKLOADS)
    return is_pipeline and (path.name in PURE_FILES or says_so)


def package_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "lading" and len(parts) > 1 else None


def layer(name: str) -> int:
    return next(index for index, packages in enumerate(LAYERS) if name in packages)


def own_package(path: pathlib.Path) -> str | None:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py") if parts[0] != "__init__.py" else None


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_imports_go_one_way(path: pathlib.Path) -> None:
    here = own_package(path)
    for name in imported(path):
        there = package_of(name)
        if here is None or there is None or there == here or there.startswith("__"):
            continue
        assert layer(there) <= layer(here), f"{module_id(path)} imports {name} from above"
        if here in FEATURES and there in FEATURES:
            assert ".types" in name or ".gate" in name, (
                f"{module_id(path)} may import only types of {there}"
            )
        if here in ("loop", "observability"):
            assert there not in FEATURES, f"{module_id(path)} knows the feature {there}"
        if here == "servers":
            assert there not in FEATURES | {"adapters", "loop"}, f"a server imports {name}"
        if here == "adapters":
            assert there not in FEATURES | {"servers", "loop"}, f"an adapter imports {name}"


def names_of_adapters(path: pathlib.Path) -> dict[str, str]:
    """What a module calls the things that it imports from adapters and servers.

    Also those that another module of ours imported from there.
    """
    names: dict[str, str] = {}
    for module, alias in imports_from(path):
        between = SOURCE.parent / (module.replace(".", "/") + ".py")
        name = f"{module}.{alias.name}"
        if not module.startswith(CONSTRUCTED):
            name = _imported_from_adapters(between).get(alias.name, "")
        if name:
            names[alias.asname or alias.name] = name
    return names


@functools.cache
def _imported_from_adapters(path: pathlib.Path) -> dict[str, str]:
    if not path.is_relative_to(SOURCE) or not path.is_file():
        return {}
    return {
        alias.asname or alias.name: f"{module}.{alias.name}"
        for module, alias in imports_from(path)
        if module.startswith(CONSTRUCTED)
    }


def imports_from(path: pathlib.Path) -> Iterator[tuple[str, ast.alias]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias) for alias in node.names)


def is_plain(name: str) -> bool:
    return any(name == plain or name.startswith(f"{plain}.") for plain in PLAIN_FUNCTIONS)


@pytest.mark.parametrize(
    "path",
    [one for one in modules() if own_package(one) not in ("wiring", "adapters", "servers")],
    ids=module_id,
)
def test_adapters_and_servers_are_constructed_in_wiring_only(path: pathlib.Path) -> None:
    """Elsewhere their names are types and errors: they may stand there, but are no values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = names_of_adapters(path)
    assert "*" not in names, f"{module_id(path)} imports everything of an adapter"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(one.name.startswith(CONSTRUCTED) for one in node.names)
        if isinstance(node, ast.ImportFrom) and node.module == "lading":
            assert not any(f"lading.{one.name}" in CONSTRUCTED for one in node.names)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not node.value.startswith(CONSTRUCTED), f"{module_id(path)}:{node.lineno}"
    for value in values(tree):
        name = names.get(root_of(value), "")
        is_constant = any(one.isupper() for one in (name.split(".")[-1], last_of(value)))
        assert not name or is_plain(name) or is_constant, (
            f"{module_id(path)}:{value.lineno} uses {name}"
        )


def root_of(called: ast.expr) -> str:
    while isinstance(called, ast.Attribute):
        called = called.value
    return called.id if isinstance(called, ast.Name) else ""


def last_of(dotted: ast.expr) -> str:
    return dotted.attr if isinstance(dotted, ast.Attribute) else root_of(dotted)


def values(tree: ast.Module) -> list[ast.expr]:
    """The dotted names that are values: called, passed, assigned, inherited from, and so on."""
    found = _Values()
    found.visit(tree)
    return found.names


class _Values(ast.NodeVisitor):
    """Leaves out names that are only types: in annotations, `except`, `isinstance` and `case`.

    The keys of a dict too: a table by kind of error.
    """

    def __init__(self) -> None:
        self.names: list[ast.expr] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.names.append(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if root_of(node):
            self.names.append(node)
        else:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for one in (*node.decorator_list, node.args, *node.body):
            self.visit(one)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - a name of NodeVisitor

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        for one in node.body:
            self.visit(one)

    def visit_Call(self, node: ast.Call) -> None:
        if root_of(node.func) == "isinstance":
            self.visit(node.args[0])
        else:
            self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for one in node.values:
            self.visit(one)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for one in (*node.patterns, *node.kwd_patterns):
            self.visit(one)


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if is_pure(path)],
    ids=module_id,
)
def test_pure_files_touch_nothing_outside(path: pathlib.Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name in imported(path):
        assert not any(
            name == impure or name.startswith(f"{impure}.") for impure in IMPURE_MODULES
        ), f"{module_id(path)} is pure and must not import {name}"
    for node in ast.walk(tree):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global), (
            f"{module_id(path)}:{node.lineno} is pure: no async, no globals"
        )
        if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today"):
            pytest.fail(f"{module_id(path)}:{node.lineno} reads a clock")


def unit_tests() -> list[str]:
    found = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(str(one) for one in found if one.parts[0] not in WHOLE_SYSTEM_FOLDERS)


@pytest.mark.parametrize("name", [one for one in unit_tests() if one not in WHOLE_SYSTEM_TESTS])
def test_a_test_module_is_named_after_the_module_it_tests(name: str) -> None:
    """With a topic behind the name where one module has several: test_client_watch.py."""
    path = pathlib.PurePath(name)
    words = path.stem.split("_")[1:]
    named = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
    there = {path.parent.name, *(one.stem for one in (SOURCE / path.parent).rglob("*"))}
    assert named & there, f"no module of {path.parent} has a name that {path.name} starts with"


@pytest.mark.parametrize(
    "path",
    [*TESTS.rglob("*.py"), *(TESTS.parent / "bench").rglob("*.py")],
    ids=lambda path: str(path.relative_to(TESTS.parent)),
)
def test_builders_are_not_imported_from_test_modules(path: pathlib.Path) -> None:
    ours = (name.split(".") for name in imported(path) if name.startswith(("tests.", "bench.")))
    for name in ours:
        assert not any(step.startswith("test_") for step in name), (
            f"{'.'.join(name)} belongs into a file of builders"
        )


@pytest.mark.parametrize("name", unit_tests())
def test_random_worlds_are_drawn_by_hypothesis(name: str) -> None:
    """`make fuzz` draws anew only what hypothesis draws; a fixed list of seeds stays the same."""
    for node in ast.walk(ast.parse((TESTS / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize"):
            assert "seed" not in ast.unparse(node.args[0]), f"{name}:{node.lineno} lists seeds"


def test_no_test_is_excused_that_is_gone() -> None:
    assert set(unit_tests()) >= WHOLE_SYSTEM_TESTS


WHOLE_KINDS = "standalone/workloads/kinds.py"


def test_no_public_class_name_stands_for_two_things() -> None:
    """Each port has errors of its own, and the servers have the words of their protocols.

    The workload controllers of a standalone cluster read kinds whole that others read in part.
    """
    found: dict[str, list[str]] = {}
    for path in modules():
        if own_package(path) not in ("servers", "ports") and module_id(path) != WHOLE_KINDS:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, []).append(module_id(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_values_are_structs() -> None:
    """A dataclass takes sixty times as long to define, which every start of a command pays."""
    texts = {module_id(path): path.read_text(encoding="utf-8") for path in modules()}
    assert [name for name, text in texts.items() if re.search(r"import .*\bdataclass", text)] == []


@pytest.mark.parametrize("path", modules(), ids=module_id)
def test_files_and_functions_stay_small_and_say_what_they_are(path: pathlib.Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), f"{module_id(path)} does not say what it is for"
    assert text.count("\n") <= FILE_LINES_MAX, f"{module_id(path)} is too long"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{module_id(path)}: {node.name} is too long"
