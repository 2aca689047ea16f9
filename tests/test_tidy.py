"""Keeps the layers: what may be imported from where, who constructs adapters, what is pure.

Reads syntax trees only; nothing is imported or run.
"""

import ast
import pathlib
from collections.abc import Iterator

import pytest

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "lading"
FEATURES = {"pinned_images", "runtime_images", "boot_images", "prepull", "pruning", "installation"}
LAYERS: tuple[set[str], ...] = (
    {"kernel"},
    {"api", "files", "wire"},
    {"ports"},
    {"adapters", "servers", "loop", "observability"} | FEATURES,
    {"wiring"},
    {"standalone", "sim"},
    {"cli", "web"},
)
PURE_FILES = {"types.py", "plan.py", "rules.py"}
IMPURE_MODULES = {
    "asyncio", "grpc", "grpclib", "aiohttp", "logging", "os", "pathlib", "random",
    "secrets", "socket", "structlog", "subprocess", "tempfile", "threading", "time",
    "lading.adapters", "lading.loop", "lading.observability", "lading.servers",
}  # fmt: skip
CONSTRUCTED = ("lading.adapters", "lading.servers")
PLAIN_FUNCTIONS = {
    "lading.adapters.kube.discovery",
    "lading.adapters.kube.requests",
}
"""Modules of adapters that construct none: any package may call their functions."""
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
    return own_package(path) in FEATURES and (path.name in PURE_FILES or says_so)


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
            assert ".types" in name, f"{module_id(path)} may import only types of {there}"
        if here in ("loop", "observability"):
            assert there not in FEATURES, f"{module_id(path)} knows the feature {there}"
        if here == "servers":
            assert there not in FEATURES | {"adapters", "loop"}, f"a server imports {name}"
        if here == "adapters":
            assert there not in FEATURES | {"servers", "loop"}, f"an adapter imports {name}"


def names_of_adapters(tree: ast.Module) -> dict[str, str]:
    """What a module calls the things that it imports from adapters and servers."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(CONSTRUCTED)
        for alias in node.names
    }


def is_plain(name: str) -> bool:
    return any(name == plain or name.startswith(f"{plain}.") for plain in PLAIN_FUNCTIONS)


@pytest.mark.parametrize(
    "path",
    [one for one in modules() if own_package(one) not in ("wiring", "adapters", "servers")],
    ids=module_id,
)
def test_adapters_and_servers_are_constructed_in_wiring_only(path: pathlib.Path) -> None:
    """Elsewhere their names are types and errors: they may stand there, but not be called."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = names_of_adapters(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(one.name.startswith(CONSTRUCTED) for one in node.names)
        if not isinstance(node, ast.Call):
            continue
        called: ast.expr = node.func
        while isinstance(called, ast.Attribute):
            called = called.value
        name = names.get(called.id, "") if isinstance(called, ast.Name) else ""
        assert not name or is_plain(name), f"{module_id(path)}:{node.lineno} calls {name}"


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
