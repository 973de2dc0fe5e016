"""Each block of code of each page is checked by its kind, and most of the Python runs. A kind without a check fails."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import yaml

import dcf
from dcf.cli.places.context_file import read_contexts
from dcf.cli.processes.functions import flows_of
from dcf.flow.compiling import compile_flow
from dcf.hosting.agents_file import read_agents_file
from dcf.settings.process import VARIABLES
from dcf.worker import FUNCTIONS
from tests.flow.agreement import load
from tests.support.pages import NAMES, Block, all_blocks, blocks_of
from tests.support.paths import ROOT
from tests.support.shell_lines import Unknown, check_command, check_dcf, commands_of
from tests.support.tables import rows

BLOCKS: Final = all_blocks()
BY_LABEL: Final = {block.label: block for block in BLOCKS}
DERIVED: Final = "docs/reference/client.md"
"""The page with signatures, which is compiled and not run."""
PYTHON: Final = [name for name in NAMES if name != DERIVED and any(block.kind == "python" for block in blocks_of(name))]

NOT_RUN_HERE: Final = {
    ("docs/moving/queues.md", "chord("): "Celery is not installed",
    ("docs/moving/temporal.md", "@workflow.defn"): "Temporal is not installed",
    ("docs/reference/python.md", "client.serve("): "tests/python/test_page.py",
    ("docs/tutorials/refunds.md", "serve_forever"): "tests/system/dcf_run/test_tutorial.py",
}
"""Python that is only compiled here, by its page and a word in it: why, or the test that runs it."""

DIAGRAMS: Final = {"flowchart", "graph", "sequenceDiagram", "stateDiagram-v2", "gantt", "classDiagram"}


def check_sh(block: Block) -> None:
    for words in commands_of(block.text):
        check_command(words)


def check_python(block: Block) -> None:
    compile(block.text, block.label, "exec")


def check_json(block: Block) -> None:
    document = json.loads(block.text)
    for machine in machines_in(document):
        assert dcf.validate(machine)["problems"] == []
    for server in servers_in(document):
        if server.get("command", "").endswith("dcf"):
            check_dcf(server["args"])
            assert set(server.get("env", {})) <= set(VARIABLES)


def machines_in(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the machine that a document is, or that its states make together."""
    if isinstance(document, dict):
        machine = document.get("asl", document)
        if "States" in machine:
            yield machine
        elif "Type" in machine and machine["Type"] in {"Task", "Map", "Parallel", "Choice"}:
            yield machine_of({"State": machine})
        elif machine and all(isinstance(state, dict) and "Type" in state for state in machine.values()):
            yield machine_of(machine)


def machine_of(states: Mapping[str, Any]) -> dict[str, Any]:
    """Return a machine of some states. Other states that they name succeed."""
    named = {step["Next"] for state in states.values() for step in [state, *state.get("Catch", [])] if "Next" in step}
    rest = {name: {"Type": "Succeed"} for name in named - set(states)}
    return {"StartAt": next(iter(states)), "States": {**states, **rest}}


def servers_in(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the servers of a configuration of an MCP client."""
    if isinstance(document, dict):
        for named in (document.get("mcpServers"), document.get("servers")):
            yield from (named or {}).values()
        if isinstance(document.get("config"), dict):
            yield document["config"]


def check_toml(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tomllib.loads(block.text)
    path = folder / "block.toml"
    path.touch(0o600)
    path.write_text(block.text)
    if "agents" in document:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        assert len(read_agents_file(path).agents) == len(document["agents"])
    elif "contexts" in document:
        assert set(read_contexts(path).known) == set(document["contexts"])
    else:
        raise Unknown("no check for this file")


def check_yaml(block: Block) -> None:
    values = yaml.safe_load((ROOT / "deploy/helm/dcf/values.yaml").read_text("utf-8"))
    document = yaml.safe_load(block.text)
    assert set(document) <= set(values)
    for name, part in document.items():
        assert not isinstance(part, dict) or set(part) <= set(values[name])


def check_mermaid(block: Block) -> None:
    assert block.text.split(maxsplit=1)[0] in DIAGRAMS


def check_text(block: Block) -> None:
    assert block.text.strip()


CHECKS: Final[Mapping[str, Callable[[Block], None]]] = {
    "sh": check_sh,
    "python": check_python,
    "json": check_json,
    "yaml": check_yaml,
    "mermaid": check_mermaid,
    "text": check_text,
}


@rows("label", BY_LABEL)
def test_every_block_of_a_page_is_right(label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = BY_LABEL[label]
    if block.kind == "toml":
        check_toml(block, tmp_path, monkeypatch)
    else:
        assert block.kind in CHECKS, f"no check for blocks of the kind {block.kind!r}: name another behind the fence"
        CHECKS[block.kind](block)


def test_blocks_are_found() -> None:
    counts = {kind: sum(block.kind == kind for block in BLOCKS) for kind in ("sh", "python", "json", "toml", "yaml")}
    assert counts["sh"] > 60
    assert (counts["python"], counts["json"]) > (20, 15)
    assert (counts["toml"], counts["yaml"]) == (3, 1)


MISTAKES: Final = """
dcf runs paus RUN
dcf ls --statuss failed
dcf ls --limit many
dcf ls | dcf nothing
DCF_NOTHING=1 dcf ls
make tests-of-all
python -m dcf.nothing
pip install '.[everything]'
docker compose run --rm dcf-mcp keys make
docker compose exec nowhere dcf doctor
frobnicate now
echo 'never closed
"""


@rows("text", MISTAKES.strip().splitlines())
def test_a_line_with_a_mistake_fails(text: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - of the shell, of dcf, or of the check
        check_sh(Block("page", 1, "sh", text, None))


@rows("document", [{"Pay": {"Type": "Task", "Next": "Pay", "Resources": 7}}, {"StartAt": "A", "States": {}}])
def test_a_document_that_dcf_rejects_fails(document: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_json(Block("page", 1, "json", json.dumps(document), None))


# The Python runs.


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Let blocks import each other from a folder; forget afterwards the functions and modules that they make."""
    with pytest.MonkeyPatch.context() as patch:
        folder.mkdir()
        patch.syspath_prepend(str(folder))
        for name in tuple(FUNCTIONS):
            patch.delitem(FUNCTIONS, name)
        yield
        FUNCTIONS.clear()
    for name, module in tuple(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "").is_relative_to(folder):
            del sys.modules[name]


def is_run(block: Block) -> bool:
    return not any(block.page == page and word in block.text for page, word in NOT_RUN_HERE)


@rows("name", PYTHON)
def test_the_python_of_a_page_runs_in_its_order(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name.replace("/", "-")
    with importing_from(folder):
        for block in blocks_of(name):
            if block.kind == "python" and is_run(block):
                run(block, folder)


def run(block: Block, folder: Path) -> None:
    """Import a block, compile its flows, and call its tests."""
    module = imported(block, folder)
    for flow in flows_of(module):
        assert compile_flow(flow).document["States"]
    for test in [value for key, value in vars(module).items() if key.startswith("test_")]:
        test()


def imported(block: Block, folder: Path) -> ModuleType:
    path = folder / (block.file or f"block_{block.line}.py")
    path.write_text(block.text)
    return load(path)


@rows("page, word", NOT_RUN_HERE)
def test_what_is_not_run_here_is_on_its_page_and_its_test_exists(page: str, word: str) -> None:
    assert [block.label for block in blocks_of(page) if word in block.text]
    reason = NOT_RUN_HERE[page, word]
    assert reason.endswith("installed") or page in (ROOT / reason).read_text("utf-8")
