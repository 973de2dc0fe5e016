"""The rules of the house, read off the source: who may import whom, how large things are, what is written down."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from dcf import errors
from dcf.features.installed import CAPABILITIES as INSTALLED
from dcf.verbs.registry import Tools
from tests.support.tables import rows

PACKAGE = Path(errors.__file__).parent
FILES = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}

PURE_PACKAGES = (
    *("dcf.core", "dcf.asl", "dcf.values"),
    *("dcf.verbs.wording.row", "dcf.verbs.wording.steps"),
)
IMPURE_FILES = re.compile(
    r"(.*_)?(keys|storage|operations|verbs)|scripts|moving|expiring|gauges|unit_cache|write_watch"
    r"|correcting|events|registration|routes|elicitation|readiness|arguments|references"
    r"|bodies|deliverer|posting|messages|records|skills|stuck_causes|capability|run_offers|__init__"
)
"""The names of the files of a capability that may do more than decide. All others are pure."""
CONFINED = "dcf.confined"
CONFINING = ("dcf.asl.expressions.confinement",)
"""Calls of pure functions in child processes, and who makes them: the language, for what could exhaust this process."""
TABLE_OF_CALLS = "dcf.verbs.wording.calls"
"""Data that is read from its file when the module is imported, as Python reads the module itself."""
MAX_BODY = 50
MAX_FILE = 400
MAX_IN_FOLDER = 20
MAX_AT_TOP = 10
MAX_DEPTH = 4

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def tree_of(name: str) -> ast.Module:
    """The source of a module, parsed when a test needs it: every worker imports this file."""
    return ast.parse(MODULES[name].read_text("utf-8"))


@cache
def nodes(name: str) -> tuple[ast.AST, ...]:
    """Every node of a module, walked once for all tests."""
    return tuple(ast.walk(tree_of(name)))


@cache
def imports(name: str) -> frozenset[str]:
    """Every module that a module imports, wherever in it, by its full name."""
    result = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(result)


def is_in(name: str, *places: str) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def is_pure(name: str) -> bool:
    """Whether a module, or something that is imported from it, must be pure: by its package, or its file's name."""
    parts = name.split(".")
    in_feature = len(parts) > 3 and parts[:2] == ["dcf", "features"]
    return is_in(name, *PURE_PACKAGES) or (in_feature and IMPURE_FILES.fullmatch(parts[3]) is None)


PURE = [name for name in MODULES if is_pure(name)]
CAPABILITIES = sorted(path.name for path in (PACKAGE / "features").iterdir() if (path / "__init__.py").exists())


@cache
def imported_modules(name: str) -> frozenset[str]:
    """The modules of dcf that a module imports, for type checkers too."""
    named = {result if result in MODULES else result.rpartition(".")[0] for result in imports(name)}
    return frozenset((named & set(MODULES)) - {name})


def contracts() -> dict[str, dict[str, Any]]:
    """The contracts of import-linter by name."""
    read = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    return {contract["name"]: contract for contract in read["tool"]["importlinter"]["contracts"]}


def importers(library: str) -> set[str]:
    return {name for name in MODULES if any(is_in(name, library) for name in imports(name))}


def public(node: ast.Module | ast.ClassDef, owner: str) -> Iterator[tuple[str, Named]]:
    """Public classes, functions and methods, with their full names."""
    for child in node.body:
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)) and not child.name.startswith("_"):
            yield f"{owner}.{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{owner}.{child.name}")


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement that is no docstring to the last."""
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not first else (function.end_lineno or 0) - first[0].lineno + 1


def error_classes() -> dict[str, type[errors.DcfError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.DcfError)
    }


def test_the_sources_are_found() -> None:
    assert {"dcf", "dcf.core.leasing.lease", "dcf.asl.engine", "dcf.errors"} <= set(MODULES)


# Layers


@rows("name", PURE)
def test_what_is_pure_imports_nothing_of_dcf_but_what_is_pure(name: str) -> None:
    own = {name for name in imports(name) if is_in(name, "dcf")}
    allowed = ("dcf.errors", TABLE_OF_CALLS, *([CONFINED] if name in CONFINING else []))
    assert not {name for name in own if not is_pure(name) and not is_in(name, *allowed)}


@rows("name", PURE)
def test_what_is_pure_has_no_clock_no_chance_and_no_input_or_output(name: str) -> None:
    impure = ("time", "random", "secrets", "os", "sys", "io", "pathlib", "socket", "threading", "asyncio", "logging")
    assert not [name for name in imports(name) if is_in(name, *impure)]
    calls = {ast.unparse(node.func) for node in nodes(name) if isinstance(node, ast.Call)}
    assert not calls & {"open", "print", "input", "datetime.now", "datetime.utcnow", "uuid4"}


def test_every_expression_is_limited_by_steps_and_a_plain_one_by_no_clock() -> None:
    calls = [node for node in nodes("dcf.asl.jsonata.expressions") if isinstance(node, ast.Call)]
    evaluated = [{word.arg for word in call.keywords} for call in calls if ast.unparse(call.func) == "evaluate"]
    assert evaluated
    assert all("max_steps" in words for words in evaluated)
    assert [words for words in evaluated if "timeout" not in words]


def test_errors_import_nothing_of_dcf() -> None:
    assert not [name for name in imports("dcf.errors") if is_in(name, "dcf")]


KNOW_MCP = (r"verbs\.(authentication|endpoints|progress)", r"features\.\w+\.(routes|elicitation)")
"""What is about HTTP, or about a client that is asked something during a call."""


@rows(
    ("library", "places"),
    [
        ("redis", (r"store\.", r"features\.\w+\.(storage|scripts)")),
        ("mcp", (r"tools\.", r"stub\.server", r"hosting\.tool_servers", r"local\.", *KNOW_MCP)),
        ("yaml", (r"authoring\.yaml_text", r"cli\.commands\.formats")),
        ("letta_client", (r"adapters\.letta",)),
        ("opentelemetry", (r"telemetry\.",)),
    ],
)
def test_a_library_has_one_door(library: str, places: tuple[str, ...]) -> None:
    doors = re.compile("|".join(rf"dcf\.{place}" for place in places))
    assert not {name for name in importers(library) if doors.match(name) is None}


@rows("lower", ["dcf.store", "dcf.adapters", "dcf.files", "dcf.runs", *PURE_PACKAGES])
def test_nobody_imports_the_surfaces_from_below(lower: str) -> None:
    below = [name for name in MODULES if is_in(name, lower)]
    assert not {name for name in below if any(is_in(name, "dcf.tools", "dcf.cli") for name in imports(name))}


def test_the_store_knows_neither_the_verbs_nor_the_adapters() -> None:
    upper = ("dcf.runs", "dcf.application", "dcf.adapters")
    store = [name for name in MODULES if is_in(name, "dcf.store")]
    assert not {name for name in store if any(is_in(name, *upper) for name in imports(name))}


@rows("upper", ["dcf.cli", "dcf.tools", "dcf.verbs", "dcf.workforce", "dcf.application"])
def test_nobody_above_the_verbs_reaches_through_them_to_the_store(upper: str) -> None:
    """Where a run stands is read by `runs.views`; who needs the store for something else is given it."""
    inner = {"store", "_store", "index", "_index"}
    assert not {
        f"{name}, line {node.lineno}: {ast.unparse(node)}"
        for name in MODULES
        if is_in(name, upper)
        for called in ({id(call.func) for call in nodes(name) if isinstance(call, ast.Call)},)
        for node in nodes(name)
        if isinstance(node, ast.Attribute) and node.attr in inner and id(node) not in called
        if ast.unparse(node.value) != "self"  # what it was given itself
    }


# Sizes and names


@rows("name", FILES)
def test_a_file_can_be_read_in_one_sitting(name: str) -> None:
    assert len(FILES[name].read_text("utf-8").splitlines()) <= MAX_FILE


@rows("name", MODULES)
def test_a_function_fits_on_a_screen(name: str) -> None:
    functions = [node for node in nodes(name) if isinstance(node, FUNCTIONS)]
    assert not {
        f"{node.name}, line {node.lineno}": body_lines(node) for node in functions if body_lines(node) > MAX_BODY
    }


def test_modules_are_named_for_what_they_hold() -> None:
    empty = re.compile(r"(utils?|helpers?|commons?|managers?|misc|stuff|base)\Z")
    assert not [name for name in MODULES if empty.search(name.rpartition(".")[2])]


def test_no_two_classes_of_a_folder_have_the_same_name() -> None:
    named: dict[str, list[str]] = {}
    for name, path in FILES.items():
        own = [
            node.name.lstrip("_") for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)
        ]
        named.setdefault(name.rpartition(".")[0], []).extend(own)
    assert not {(folder, name) for folder, names in named.items() for name in names if names.count(name) > 1}


# The tree


def test_no_two_modules_import_each_other() -> None:
    """Neither directly nor through others."""
    waiting = {name: imported_modules(name) for name in MODULES}
    while ready := {name for name, needed in waiting.items() if needed.isdisjoint(waiting)}:
        waiting = {name: needed for name, needed in waiting.items() if name not in ready}
    assert sorted(waiting) == []


def test_a_folder_can_be_looked_over() -> None:
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    sizes = {str(folder): sum(path.is_file() for path in folder.iterdir()) for folder in folders}
    assert not {folder: size for folder, size in sizes.items() if size > MAX_IN_FOLDER}


def test_few_modules_are_at_the_top_and_none_is_deep() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MAX_AT_TOP
    paths = [path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts]
    assert not [path for path in paths if len(path.parts) > MAX_DEPTH]


def test_every_capability_is_installed_and_has_its_layers() -> None:
    layers = contracts()["Within a capability: verbs, operations, storage, keys"]["containers"]
    assert sorted(INSTALLED) == CAPABILITIES
    assert sorted(layers) == [f"dcf.features.{name}" for name in CAPABILITIES]


def test_a_capability_lists_all_of_its_modules_that_offer_something_and_no_other() -> None:
    for name, listed in INSTALLED.items():
        modules = {path.stem: path.read_text("utf-8") for path in (PACKAGE / "features" / name).glob("*.py")}
        offering = [module for module, text in modules.items() if "\nOFFER: Final" in text or module.endswith("verbs")]
        assert sorted(listed) == sorted(offering), name


def test_the_engine_imports_no_capability() -> None:
    contract = contracts()["The engine knows no capability"]
    engine = [name for name in MODULES if is_in(name, *contract["source_modules"])]
    assert not [name for name in engine if any(is_in(module, "dcf.features") for module in imports(name))]
    assert "ignore_imports" not in contract


def test_a_capability_imports_only_those_below_it() -> None:
    order = list(INSTALLED)
    upwards = {
        f"{name} -> {above}"
        for at, capability in enumerate(order)
        for name in MODULES
        if is_in(name, f"dcf.features.{capability}")
        for above in order[:at]
        if any(is_in(module, f"dcf.features.{above}") for module in imports(name))
    }
    assert not upwards


def test_tools_cannot_be_asked_for_before_their_list_is_complete() -> None:
    tools = Tools()
    with pytest.raises(RuntimeError, match="not complete"):
        len(tools)
    with pytest.raises(RuntimeError, match=r"define no tools.*dcf\.features\.gates\.verbs"):
        tools.complete(["dcf.features.gates.verbs"])
    tools.complete([])
    assert list(tools) == []


# Documentation


@rows("name", MODULES)
def test_everything_public_says_what_it_is(name: str) -> None:
    assert ast.get_docstring(tree_of(name)), f"{name} has no docstring"
    silent = [node for _, node in public(tree_of(name), name) if not ast.get_docstring(node)]
    assert not [
        node.name for node in silent if not any(ast.unparse(item) == "overload" for item in node.decorator_list)
    ]


def test_every_error_has_a_code_of_its_own() -> None:
    own = [kind.__dict__["code"] for kind in error_classes().values() if "code" in kind.__dict__]
    assert len(own) == len(set(own))
    assert {name for name, kind in error_classes().items() if "code" not in kind.__dict__} == {"ToolCallFailed"}


def test_every_error_is_drawn_in_the_tree_below_its_parent() -> None:
    drawn = re.findall(r"^ {4}([│├└─ ]*)(\w+)(?: +(\(.*?\)|\w+))?", inspect.getdoc(errors) or "", re.MULTILINE)
    parents: list[tuple[int, str]] = []
    tree: dict[str, tuple[str | None, str]] = {}
    for branches, name, code in drawn:
        while parents and parents[-1][0] >= len(branches):
            parents.pop()
        tree[name] = (parents[-1][1] if parents else None, code)
        parents.append((len(branches), name))
    assert {name: parent for name, (parent, _) in tree.items()} == {
        name: kind.__bases__[0].__name__ if kind is not errors.DcfError else None
        for name, kind in error_classes().items()
    }
    shown = {name: code for name, (_, code) in tree.items() if code and not code.startswith("(")}
    assert shown == {name: error_classes()[name].code for name in shown}
    assert set(tree) - set(shown) == {"DcfError", "NotFound", "ToolCallFailed"}


def test_refusals_of_what_is_pure_are_made_in_one_place() -> None:
    """In `refusals` and `*_refusals`; `answers` defines what they are, and `documents` has rules of its own."""
    deciding = {name for name in PURE if not is_in(name, "dcf.values", "dcf.features.documents.rules")}
    makers = {name for name in deciding if re.search(r"Refusal(\.kind)?\(", ast.unparse(tree_of(name)))}
    assert not {name for name in makers if re.fullmatch(r"(.*_)?refusals|answers", name.rpartition(".")[2]) is None}


def test_no_property_test_asserts_how_long_an_example_takes() -> None:
    """Example: hypothesis' own deadline of 200 ms, which a busy machine misses."""
    assert settings.default is not None
    assert settings.default.deadline is None
