"""The same exit code means the same, whatever the command."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dcf import errors
from dcf.cli import exit_codes
from dcf.cli.front_page import front_page
from dcf.store.connection.layout import LAYOUT
from dcf.store.keys import table as keys
from tests.cli.conftest import Dcf, Seed
from tests.support.paths import ROOT
from tests.support.redis.servers import redis_server
from tests.support.tables import rows

PAGE = (ROOT / "docs" / "reference" / "exit-codes.md").read_text("utf-8")
NOWHERE = "redis://127.0.0.1:1/0"
PASS = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
FAIL = '{"StartAt": "A", "States": {"A": {"Type": "Fail", "Error": "No"}}}'

FUNCTIONS = "from dcf.worker import task\n\n@task('Only')\ndef only(given):\n    return given\n"


@rows(
    ("arguments", "code"),
    [
        (("ls",), 0),
        (("validate", "pass.json"), 0),
        (("validate", "wrong.json"), 1),
        (("validate", "broken.json"), 1),
        (("validate", "nowhere.json"), 2),
        (("simulate", "pass.json"), 0),
        (("simulate", "fail.json"), 1),
        (("simulate", "broken.json"), 2),
        (("graph", "pass.json"), 0),
        (("graph", "broken.json"), 2),
        (("graph", "nobody"), 3),
        (("run", "nowhere.json"), 2),
        (("run", "wrong.json"), 2),
        (("show", "nobody"), 3),
        (("runs", "events", "nobody"), 3),
        *(
            (command, 3)
            for command in (
                ("why", "nobody"),
                ("watch", "nobody"),
                ("runs", "export", "nobody"),
                ("runs", "pause", "nobody"),
            )
        ),
        *(
            (command, 3)
            for command in (("cancel", "nobody", "--yes"), ("runs", "rerun", "nobody"), ("retry", "nobody"))
        ),
        (("start", "nowhere.json"), 2),
        (("init", "--asl", "json"), 2),
        (("keys", "show", "0123456789ab"), 3),
        (("keys", "revoke", "0123456789ab"), 3),
        (("skills", "validate", "nowhere"), 2),
        (("store", "audit", "--since", "yesterday"), 2),
        (("tools", "--profile", "nobody"), 2),
        (("workflows", "stub", "--config", "nowhere.json"), 2),
        (("worker", "nowhere.py", "--agent-id", "me"), 2),
        (("serve", "--transport", "smoke"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_command_ends_with_the_code_of_the_table(
    dcf: Dcf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"pass": PASS, "fail": FAIL, "wrong": PASS.replace('"StartAt": "A"', '"StartAt": "B"'), "broken": "{"}
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)
    assert dcf(*arguments).exit_code == code


@rows(
    "arguments",
    [
        ("ls",),
        ("show", "x"),
        ("runs", "events", "x"),
        ("doctor",),
        ("store", "pulse", "--once"),
        ("store", "audit"),
        ("keys", "ls"),
    ],
    ids=" ".join,
)
def test_every_command_that_needs_redis_ends_with_4_without_it(dcf: Dcf, arguments: tuple[str, ...]) -> None:
    assert dcf(*arguments, REDIS_URL=NOWHERE).exit_code == exit_codes.UNAVAILABLE


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Redis that a dcf of the future has written to."""
    with redis_server(tmp_path_factory.mktemp("newer")) as port, redis.Redis(port=port) as client:
        client.set(keys.LAYOUT, json.dumps({"version": LAYOUT + 1, "dcf": "9.1.0"}))
        yield f"redis://127.0.0.1:{port}"
        assert client.keys() == [keys.LAYOUT.encode()]


@rows(
    "arguments",
    [
        *[
            ("ls",),
            ("show", "x"),
            ("doctor",),
            ("store", "pulse", "--once"),
            ("keys", "ls"),
            ("keys", "add", "--any-agent"),
        ],
        *[("start", "pass.json"), ("run", "pass.json"), ("worker", "functions.py", "--agent-id", "me", "--direct")],
        *[
            ("serve",),
            ("serve", "--transport", "http", "--port", "0", "--auth", "off"),
            ("web",),
        ],
    ],
    ids=" ".join,
)
def test_every_process_refuses_the_redis_of_a_newer_dcf(
    dcf: Dcf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newer: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pass.json").write_text(PASS)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    result = dcf(*arguments, REDIS_URL=newer)
    assert result.exit_code == exit_codes.UNAVAILABLE, result.output
    assert "store_too_new: Use dcf 9.1.0 or newer with this Redis" in " ".join(result.output.split())


def test_every_code_is_on_the_page_with_its_errors_and_those_of_commands_in_the_help() -> None:
    shown = {
        int(code): (meaning, errors)
        for code, meaning, errors in re.findall(r"^\| (\d+) \| (.+?) \|(.*)\|$", PAGE, re.MULTILINE)
    }
    assert {code: meaning for code, (meaning, _) in shown.items()} == exit_codes.MEANINGS
    (line,) = (line for line in front_page().splitlines() if line.startswith("Exit codes:"))
    assert set(map(int, re.findall(r"\d+", line))) == set(shown) - {exit_codes.INTERRUPTED, exit_codes.TERMINATED}
    for code, (_, cells) in shown.items():
        assert all(exit_codes.ERRORS[name] == code for name in re.findall(r"`(\w+)`", cells))
    assert {name for _, cells in shown.values() for name in re.findall(r"`(\w+)`", cells)} == set(exit_codes.ERRORS)


def test_what_is_not_there_has_one_code_and_what_cannot_be_used_another() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DcfError)]
    for kind in kinds:
        made = errors.DcfError("x")
        made.code = kind.code
        if issubclass(kind, errors.NotFound):
            assert exit_codes.of_error(made) == exit_codes.NOT_FOUND
        if issubclass(kind, errors.StoreUnavailable | errors.StoreUnsuitable):
            assert exit_codes.of_error(made) == exit_codes.UNAVAILABLE
        if issubclass(kind, errors.InvalidArgument):
            assert exit_codes.of_error(made) == exit_codes.USAGE


def test_a_run_that_is_over_ends_a_command_with_0_only_if_it_succeeded(seed: Seed) -> None:
    assert {status: exit_codes.of_run(status) for status in ("succeeded", "failed", "cancelled", "partial")} == {
        "succeeded": 0,
        "failed": 1,
        "cancelled": 1,
        "partial": 1,
    }
