"""Everything that may be wrong: an exit code, what is wrong in one sentence, what to do in another, no traceback."""

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from typer.testing import Result

from dcf.cli.child_processes import ChildProcesses
from dcf.cli.processes.functions import load_functions
from dcf.cli.processes.serve import open_listener
from dcf.errors import InvalidArgument
from dcf.settings.process import Settings
from dcf.store.connection.layout import LAYOUT
from dcf.tools.calling.client import connect
from dcf.values.json_text import Json
from dcf.worker import FUNCTIONS, TaskFunction
from tests.cli.conftest import Dcf, plain_redis
from tests.support.redis.servers import redis_server
from tests.support.tables import rows

WORKFLOW = "workflows/order_processing.json"


def told(result: Result, code: int, *parts: str) -> None:
    """Check the exit code, and that standard error has an error and a hint, and nothing is on standard output."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    first, *_, hint = result.stderr.splitlines()
    assert first.startswith("dcf: ")
    assert hint.startswith("     ")
    assert len(hint.strip()) > 10
    for part in parts:
        assert part in result.stderr


@pytest.fixture(autouse=True)
def _nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*arguments: object) -> None:
        raise AssertionError("it is too early to start a process")

    monkeypatch.setattr(ChildProcesses, "start", start)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, Json], Path]:
    def write(name: str, content: Json) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


File = Callable[[str, str | bytes], Path]


# Files


@rows("name", ["nowhere.json", "workflows", "x" * 5000, "\udcff", "[bold]x[/bold]"])
def test_a_workflow_that_is_no_file(dcf: Dcf, name: str) -> None:
    told(dcf("run", name), 2, "invalid_argument", "There is no file ")


def test_a_workflow_that_is_no_text(dcf: Dcf, file: File) -> None:
    told(dcf("run", file("w.json", b"\xff\xfe\x00")), 2, "cannot be read as UTF-8 text")


@rows(
    ("text", "reason"),
    [
        ("{", "is not valid JSON"),
        ("", "is not valid JSON"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[" * 5000 + "]" * 5000, "nested deeper"),
        (" " * 1_100_000, "is larger than"),
    ],
    ids=["broken", "empty", "duplicate", "nan", "deep", "large"],
)
def test_a_workflow_that_is_no_json(dcf: Dcf, file: File, text: str, reason: str) -> None:
    told(dcf("run", file("w.json", text)), 2, "too_large" if reason == "is larger than" else "invalid_argument", reason)


@rows("command", [("run", WORKFLOW), ("simulate", WORKFLOW)], ids=["run", "simulate"])
def test_an_input_that_is_no_json(dcf: Dcf, file: File, command: tuple[str, ...]) -> None:
    broken = file("order.json", "order")
    told(dcf(*command, "--input", broken), 2, "order.json is not valid JSON", f"Correct {broken}.")
    told(dcf(*command, "--input", "nowhere.json"), 2, "There is no file nowhere.json")
    told(dcf(*command, "--input", '{"a": '), 2, "--input is not valid JSON", "Correct --input.")
    told(dcf(*command, "--input", "-"), 2, "standard input is not valid JSON: it is empty.")
    lines = file("lines.json", '{\n "a": 1,\n "b" 2}')
    told(dcf(*command, "--input", lines), 2, "lines.json is not valid JSON: line 3, column 6: Expecting ':' delimiter.")


def test_a_file_with_a_byte_order_mark_is_read(dcf: Dcf, file: File) -> None:
    told(dcf("run", file("w.json", b"\xef\xbb\xbf[]")), 2, "The workflow document is not a JSON object")


def test_every_problem_of_a_definition_is_listed(dcf: Dcf, file: File) -> None:
    states = {"A": {"Type": "Task", "Next": "Nowhere"}, "B": {"Type": "Strange"}, "C": {"Type": "Pass"}}
    text = json.dumps({"asl": {"StartAt": "Missing", "States": states}})
    path = file("w.json", text)
    result = dcf("run", path)
    told(result, 2, f"invalid_definition: {path} has ", "dcf validate FILE")
    for place in ("/asl/States/A", "/asl/States/B", "/asl/States/C", "/asl/StartAt"):
        lines = [line for line in result.stderr.splitlines() if line.startswith(f"     {place}")]
        assert lines
        assert len(set(lines)) == len(lines), "a problem is told once"
    assert len(result.stderr.splitlines()) == 2 + result.stderr.count("\n     /"), "a head, the problems, a hint"


# Task functions


def test_a_workflow_without_task_functions(dcf: Dcf, file: File) -> None:
    states = {"A": {"Type": "Task", "End": True}}
    path = file("lonely.json", json.dumps({"asl": {"StartAt": "A", "States": states}}))
    told(dcf("run", path), 2, "There are no task functions at", "--workers")


@rows("source", ["nowhere.py", "no.such.module", "", "..", "a b", "json.nothing"])
def test_task_functions_that_are_not_there(dcf: Dcf, source: str) -> None:
    told(dcf("run", WORKFLOW, "--workers", source), 2, "There is no Python file or module")
    told(dcf("worker", source, "--agent-id", "me"), 2, "There is no Python file or module")


@rows(
    ("text", "reason"),
    [
        ("x = 1\n", "registers no task function"),
        ("def broken(:\n", "cannot be imported: SyntaxError: "),
        ("import no_such_module_here\n", "cannot be imported: ModuleNotFoundError: "),
        ("\n\nraise ValueError('not today')\n", "ValueError: not today ("),
    ],
    ids=["no-functions", "syntax", "import", "exception"],
)
def test_task_functions_that_cannot_be_used(
    dcf: Dcf, file: File, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    for name in list(FUNCTIONS):
        monkeypatch.delitem(FUNCTIONS, name)
    told(dcf("worker", file("mine.py", text), "--agent-id", "me"), 2, reason)


def test_a_failed_import_names_the_line(file: File) -> None:
    path = file("mine.py", "\n\nraise ValueError('not today')\n")
    with pytest.raises(InvalidArgument, match=r"mine\.py, line 3"):
        load_functions(str(path), ())


def test_a_state_without_a_function(dcf: Dcf, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(FUNCTIONS):
        monkeypatch.delitem(FUNCTIONS, name)
    path = file("mine.py", "from dcf.worker import task\n@task('Pack')\ndef pack(given): ...\n")
    result = dcf("worker", path, "--agent-id", "me", "--state", "Ship")
    told(result, 2, "registers no function for the state 'Ship', only for: Pack", "@task")
    monkeypatch.delitem(FUNCTIONS, "Pack")


@rows(
    ("text", "reason", "hint"),
    [
        ("@task\ndef pack(given): ...\n", "registers no task function", '@task("StateName")'),
        ("@task('')\ndef pack(given): ...\n", "line 2: @task was not given the name of a state.", '@task("StateName")'),
        (
            "@task('Pack')\ndef pack(given): ...\n@task('Pack')\ndef send(given): ...\n",
            "Two functions are registered for the state 'Pack': at ",
            "a state has one function",
        ),
        ("import sys\nsys.exit('bye')\n", "cannot be imported: SystemExit: bye (", "Correct the file."),
    ],
    ids=["no parentheses", "no name", "two for one state", "exit"],
)
def test_a_function_that_is_registered_in_a_wrong_way(
    dcf: Dcf, file: File, monkeypatch: pytest.MonkeyPatch, text: str, reason: str, hint: str
) -> None:
    known: dict[str, TaskFunction] = {}
    monkeypatch.setattr("dcf.worker.registry.FUNCTIONS", known)
    monkeypatch.setattr("dcf.cli.processes.functions.FUNCTIONS", known)
    path = file("mine.py", f"from dcf.worker import task\n{text}")
    told(dcf("worker", path, "--agent-id", "me", "--check"), 2, reason, hint, str(path))


def test_the_same_place_may_register_its_function_again(dcf: Dcf, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a module is imported under two names."""
    known: dict[str, TaskFunction] = {}
    monkeypatch.setattr("dcf.worker.registry.FUNCTIONS", known)
    monkeypatch.setattr("dcf.cli.processes.functions.FUNCTIONS", known)
    path = file("mine.py", "from dcf.worker import task\n@task('Pack')\ndef pack(given): ...\n")
    for _ in range(2):
        result = dcf("worker", path, "--agent-id", "me", "--check")
        assert (result.exit_code, result.stderr) == (0, f"dcf: {path} has functions for Pack\n")


@rows("agent_id", ["", "two words", "-x", "a" * 65, "ü", "a\n"])
def test_an_agent_id_that_is_none(dcf: Dcf, agent_id: str) -> None:
    told(dcf("worker", "workflows/order_processing.py", f"--agent-id={agent_id}"), 2, "--agent-id is not a valid id")


def test_a_run_id_that_is_none(dcf: Dcf) -> None:
    told(dcf("run", WORKFLOW, "--id", "../etc"), 2, "--id is not a valid id")


# Options


def test_an_unknown_transport_or_toolset(dcf: Dcf) -> None:
    told(dcf("serve", "--transport", "carrier-pigeon"), 2, "There is no transport 'carrier-pigeon'")
    told(dcf("serve", "--toolsets", "planning,magic"), 2, "magic")
    told(dcf("serve", "--json"), 2, "standard output belongs to the protocol")


@rows(
    "arguments",
    [
        ["serve", "--port", "65536"],
        ["serve", "--port", "-1"],
        ["serve", "--port", "http"],
        ["run"],
        ["run", WORKFLOW, "--lease-ttl", "0"],
        ["run", WORKFLOW, "--timeout", "0"],
        ["ls", "--limit", "0"],
        ["worker", "x.py"],
        ["worker", "x.py", "--agent-id", "me", "--lease-ttl", "4000"],
        ["show"],
        ["dance"],
        ["ls", "--sideways"],
    ],
    ids=" ".join,
)
def test_options_that_are_wrong(dcf: Dcf, arguments: list[str]) -> None:
    result = dcf(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


def test_a_wrong_setting_names_its_variable(dcf: Dcf) -> None:
    told(dcf("ls", DCF_PULSE_INTERVAL_S="soon"), 2, "DCF_PULSE_INTERVAL_S")


@rows("host", ["127.0.0.1", "no.such.host.invalid", "256.1.1.1", "::1::"])
def test_an_address_that_cannot_be_listened_on(dcf: Dcf, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert dcf("keys", "add", "--any-agent").exit_code == 0
        command = ("serve", "--transport", "http", "--host", host, "--port", port)
        told(dcf(*command, DCF_MCP_ALLOWED_HOSTS="dcf.example"), 2, "Cannot listen on", str(port))


def test_an_answer_does_not_wait_for_more_to_send() -> None:
    """Nagle's algorithm together with delayed acknowledgements takes 40 ms each time."""
    with open_listener(Settings(mcp_port=0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# Runs and Redis


@rows("command", ["show", "runs events"])
@rows("name", ["nobody", "", "*", "a:b", "x" * 5000, "\x1b[31m", "[red]"])
def test_a_run_that_does_not_exist(dcf: Dcf, command: str, name: str) -> None:
    result = dcf(*command.split(), "--", name)
    assert result.exit_code in ({3} if name == "nobody" else {2, 3})
    assert result.stdout == ""
    assert "\x1b" not in result.stderr
    assert len(result.stderr) < 6000


def test_a_redis_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, dcf: Dcf) -> None:
    """`dcf run` looks for it while its server starts, and with --direct before anything is started."""
    started: list[str] = []
    monkeypatch.setattr(ChildProcesses, "start", lambda _, name, *__, **___: started.append(name))
    for command in (
        ["ls"],
        ["show", "x"],
        ["runs", "events", "x"],
        ["doctor"],
        ["store", "pulse"],
        ["run", WORKFLOW],
        ["run", WORKFLOW, "--direct"],
        ["serve"],
    ):
        result = dcf(*command, REDIS_URL="redis://:canary-1b@127.0.0.1:1/0")
        told(result, 4, "store_unavailable", "REDIS_URL", "no server listens there", "127.0.0.1:1.")
        assert "canary" not in result.output
    assert started == ["server"]


@rows(
    "url",
    [
        "redis://:canary@127.0.0.1:port/0",
        "http://canary@example.com",
        "canary",
        "redis://:canary@[::1/0",
        "redis+sentinel://:canary@",
    ],
)
def test_a_redis_url_that_is_none_is_not_repeated(dcf: Dcf, url: str) -> None:
    result = dcf("ls", REDIS_URL=url)
    told(result, 2, "REDIS_URL")
    assert "canary" not in result.output


def test_a_wrong_password_is_not_repeated(dcf: Dcf, short_directory: Path) -> None:
    with plain_redis(short_directory, "--requirepass", "right") as path:
        result = dcf("ls", REDIS_URL=f"unix://:canary-2c@{path}")
        told(result, 4, "store_unavailable", "refused the user name or password")
        assert "canary" not in result.output
        told(dcf("ls", REDIS_URL=f"unix://{path}"), 4, "refused the user name or password")


def test_a_redis_that_is_full_is_told_apart_from_one_that_will_not_do(dcf: Dcf, tmp_path: Path) -> None:
    with redis_server(tmp_path) as port, redis.Redis(port=port) as admin:
        url = f"redis://127.0.0.1:{port}"
        admin.config_set("maxmemory", 1)
        told(dcf("keys", "add", "--any-agent", REDIS_URL=url), 4, "store_unavailable", "memory is full (OOM)")
        admin.config_set("maxmemory", 0)
        assert dcf("keys", "add", "--any-agent", REDIS_URL=url).exit_code == 0


def test_a_redis_without_the_json_module(dcf: Dcf, short_directory: Path) -> None:
    with plain_redis(short_directory) as path:
        for command in ("ls", "doctor"):
            finished = dcf(command, REDIS_URL=f"unix://{path}", DCF_DOCUMENTS="json")
            told(finished, 4, "store_unsuitable", "RedisJSON")
        doctor = " ".join(dcf("doctor", REDIS_URL=f"unix://{path}").stdout.split())
        assert re.search(rf"documents as JSON text, key layout {LAYOUT}; (Redis|Valkey) \d", doctor)
        report = json.loads(dcf("doctor", "--json", REDIS_URL=f"unix://{path}").stdout)
        assert (report["documents"], report["layout"]) == ("text", LAYOUT)


def test_a_data_directory_that_cannot_be_written(dcf_alone: Dcf, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told(dcf_alone("ls", DCF_DATA_DIR=str(tmp_path / "file" / "data")), 4, "store_unavailable")


def test_json_of_run_is_an_object_even_when_nothing_could_begin(dcf: Dcf) -> None:
    result = dcf("run", "nowhere.json", "--json", "--id", "mine")
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {
        "workflow_id": "mine",
        "status": None,
        "output": None,
        "error": "invalid_argument",
        "cause": "There is no file nowhere.json.",
        "states": {},
    }
    assert "dcf: invalid_argument: There is no file nowhere.json." in result.stderr


def test_a_worker_that_never_finds_its_server(monkeypatch: pytest.MonkeyPatch, dcf: Dcf) -> None:
    monkeypatch.setattr(
        "dcf.tools.calling.client.connect", lambda url, api_key: connect(url, deadline_s=0, api_key=api_key)
    )
    for url in ("http://127.0.0.1:1/mcp", "http://user:canary@127.0.0.1:1/mcp", "nonsense"):
        result = dcf("worker", "workflows/order_processing.py", "--agent-id", "me", "--server", url)
        assert result.exit_code == 4
        assert "server_unreachable" in result.stderr
        assert "DCF_SERVER_URL" in result.stderr
        assert "canary" not in result.output
