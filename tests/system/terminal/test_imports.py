"""The imports of a command, in a fresh interpreter: a person waits for each import at each start."""

import json
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

from benchmarks.imports import COMMANDS, imported, imported_by
from dcf.cli import command_table
from tests.support.paths import ROOT
from tests.support.tables import rows

FUNCTIONS = "from dcf.worker import task\n@task('Greet')\ndef greet(given): return given"
HELLO = {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}

SDK = ("mcp", "mcp_types", "starlette", "uvicorn", "sse_starlette", "jwt", "jinja2")
"""The MCP SDK and what it brings, half a second, and the templates of the web page."""

LIBRARIES = (
    *("jsonschema", "referencing", "jsonpath", "yaml", "letta_client", "httpx", "pydantic_settings"),
    *("cronsim", "tzdata"),
)
"""Modules that only some workflows, schedules, skills and platforms need."""

FOR_COMMANDS = ("redis", "anyio", "asyncio", "httpx2")
"""Modules that only a working command needs, not help and completion."""

MOST_MODULES = {
    "--help": 190,
    "show --help": 466,
    "ls": 680,
    "doctor": 1065,
    "validate": 555,
    "worker --check": 380,
    "run": 1231,
    "run --direct": 1400,
    "serve": 1635,
}
"""Limits on the modules that the commands of the benchmark import: what they import today, and a few more.

Each folder of dcf counts as one: its `__init__` holds a sentence."""

TABLE_OF_VERBS = {
    *("dcf.verbs", "dcf.verbs.description", "dcf.verbs.description.row", "dcf.verbs.description.table"),
}
"""What is known of the commands of verbs without importing a verb."""

LIGHT = {
    *TABLE_OF_VERBS,
    *(
        "dcf.asl",
        "dcf.asl.state_paths",
        "dcf.core",
        "dcf.core.access",
        "dcf.core.access.model",
        "dcf.core.access.quotas",
    ),
    *("dcf.runs", "dcf.runs.views", "dcf.runs.views.inner_states"),
}
"""Lower modules that the command line needs for its options and for printing a table."""


imported_once = cache(imported_by)


def of_these(modules: Collection[str], *packages: str) -> set[str]:
    return {name for name in modules if name.split(".")[0] in packages}


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A workflow of one Task and its function."""
    (tmp_path / "hello.py").write_text(FUNCTIONS)
    (tmp_path / "hello.json").write_text(json.dumps(HELLO))
    return tmp_path / "hello.json"


@rows(
    "arguments, environment",
    [
        pytest.param(["--help"], {}, id="help"),
        pytest.param(["--version"], {}, id="version"),
        pytest.param(["run", "--help"], {}, id="help of run"),
        pytest.param(["keys", "add", "--help"], {}, id="help of keys add"),
        pytest.param(["schedules", "--help"], {}, id="help of a noun"),
        pytest.param(["web", "--help"], {}, id="help of web"),
        pytest.param([], {"_DCF_COMPLETE": "complete_bash", "COMP_WORDS": "dcf r", "COMP_CWORD": "1"}, id="completion"),
        pytest.param(
            [],
            {"_DCF_COMPLETE": "complete_bash", "COMP_WORDS": "dcf run --di", "COMP_CWORD": "2"},
            id="completion of an option",
        ),
    ],
)
def test_help_and_completion_import_the_command_line_and_nothing_else(
    tmp_path: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    modules = imported(tmp_path, *arguments, **environment).modules
    assert of_these(modules, *SDK, *LIBRARIES, *FOR_COMMANDS) == set()
    rooms = ("asl", "core", "features", "runs", "store", "verbs", "tools", "application", "settings", "workflows")
    assert {name for name in modules if name.startswith(tuple(f"dcf.{room}" for room in rooms))} <= LIGHT


def test_help_of_dcf_imports_no_module_of_a_command(tmp_path: Path) -> None:
    assert not imported(tmp_path, "--help").modules & modules_of_commands()


def test_a_command_imports_no_module_of_another_command(tmp_path: Path) -> None:
    modules = imported(tmp_path, "keys", "add", "--help").modules & modules_of_commands()
    assert modules == {"dcf.cli.commands.keys"}


def modules_of_commands() -> set[str]:
    """The modules of the functions that are commands of no verb."""
    own = (row.function for row in command_table.rows() if row.verb is None and row.function is not None)
    return {function.partition(":")[0] for function in own}


@pytest.mark.parametrize(("command", "most"), MOST_MODULES.items(), ids=MOST_MODULES)  # each starts processes
def test_a_command_imports_at_most_as_many_modules_as_its_limit(command: str, most: int) -> None:
    """`python -m benchmarks.imports` prints what each imports. Import what few calls need where it is used."""
    assert len(imported_once(command).modules) <= most


def test_every_command_of_the_benchmark_has_a_limit() -> None:
    assert MOST_MODULES.keys() == COMMANDS.keys()


def test_a_server_imports_no_library_that_only_some_workflows_need() -> None:
    assert of_these(imported_once("serve").modules, *LIBRARIES) == set()


def test_a_server_makes_few_models_of_the_sdk_before_it_is_called() -> None:
    """Of 490, which take a tenth of the time of its start."""
    assert imported_once("serve").models < 40


def test_looking_imports_no_sdk_and_no_library_that_only_some_workflows_need() -> None:
    modules = imported_once("ls").modules
    assert "dcf.store.lists.pages" in modules
    assert "dcf.application.application" not in modules
    assert of_these(modules, *SDK, *LIBRARIES) == set()
    rooms = ("tools", "verbs", "adapters", "workforce", "skills", "files", "workflows")
    assert {name for name in modules if name.startswith(tuple(f"dcf.{room}" for room in rooms))} <= TABLE_OF_VERBS


def test_a_direct_run_imports_neither_the_sdk_nor_an_http_client(
    tmp_path: Path, short_directory: Path, hello: Path
) -> None:
    modules = imported(
        tmp_path, "run", str(hello), "--direct", DCF_DATA_DIR=str(short_directory / "run-directly")
    ).modules
    assert "dcf.tools.calling.direct" in modules
    assert of_these(modules, *SDK, *LIBRARIES, "httpx2", "http") == set()


def test_a_worker_imports_its_client_without_the_sdk_and_the_control_plane(hello: Path) -> None:
    """A run of many copies has as many workers."""
    code = (
        "import json, sys, dcf.cli.processes.worker, dcf.tools.calling.client; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    modules = set(json.loads(done.stdout))
    # The client of Redis imports OpenTelemetry wherever that is installed, dcf only for who wants traces.
    assert of_these(modules, *SDK, *LIBRARIES, "redis", "opentelemetry") == set()
    checked = imported(hello.parent, "worker", str(hello.with_suffix(".py")), "--agent-id", "me", "--check").modules
    assert of_these(checked, *SDK, *LIBRARIES, *FOR_COMMANDS) == set()
    assert "dcf.settings.process" not in checked


@rows(
    ("code", "allowed"),
    [
        ("import dcf", {"dcf"}),
        ("from dcf.client import Client, RunDetails", {"dcf", "orjson"}),
        ("import dcf; dcf.connect('http://127.0.0.1:1/mcp').close()", {"dcf", "orjson", "httpx2", "anyio"}),
    ],
    ids=["the package", "the client", "a client of a server"],
)
def test_a_program_imports_what_it_uses_of_dcf_and_nothing_else(code: str, allowed: set[str]) -> None:
    """A program that imports dcf waits for it: tools, pydantic and Redis come with their first use."""
    command = [sys.executable, "-c", f"{code}; import json, sys; print(json.dumps(sorted(sys.modules)))"]
    modules = set(json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout))
    if code == "import dcf":
        assert {name for name in modules if name.startswith("dcf")} == {"dcf", "dcf.version"}
        assert not modules & {"asyncio", "inspect", "dataclasses"}
    assert of_these(modules, *SDK, *LIBRARIES, "pydantic", "redis", "typer", "rich") == set()
    rooms = ("asl", "core", "runs", "store", "cli", "application", "settings")
    assert not [name for name in modules if name.split(".")[:2] in [["dcf", room] for room in rooms]]
    assert allowed <= {name.split(".")[0] for name in modules}
    derived = {name for name in modules if name.startswith(("dcf.client.derived.", "dcf.client.steps."))}
    assert derived <= {"dcf.client.derived.methods", "dcf.client.steps.work"}, "a verb's records come with its method"
