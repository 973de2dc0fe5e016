"""The commands `dcf context show`: they say which place is in use and why, and keep keys to themselves."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.places.conftest import NOWHERE, Dcf
from tests.support.tables import rows

URL = "https://prod.example/mcp"
KEY = "dcf_0123456789ab_" + "k" * 43


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_context_is_added_used_listed_and_removed(dcf_away: Dcf, contexts_file: Path) -> None:
    added = dcf_away("context", "add", "prod", "--url", URL, "--project", "shop", stdin=KEY)
    assert (added.exit_code, added.stdout) == (0, "")
    assert f"context prod is {URL}; `dcf context use prod` makes it the one in use" in added.stderr
    assert json.loads(dcf_away("context", "show", "--json").stdout)["name"] == "local"
    assert "commands work on context prod now" in dcf_away("context", "use", "prod").stderr
    shown = dcf_away("context", "show").stdout
    assert shown.startswith(f"prod: {URL}\nIt is in use because `dcf context use prod` chose it.\n")
    assert "project: shop" in shown
    assert [line.split()[:3] for line in dcf_away("context", "ls").stdout.splitlines()[1:]] == [
        ["local", "this", "machine"],
        ["*", "prod", URL],
    ]
    assert dcf_away("context", "rm", "prod").exit_code == 2, "nobody can be asked"
    assert "context prod is removed" in dcf_away("context", "rm", "prod", "--yes").stderr
    assert json.loads(dcf_away("context", "show", "--json").stdout) == {
        "name": "local",
        "url": None,
        "key_file": None,
        "project": None,
        "because": "no other one is chosen",
    }
    assert [path.name for path in contexts_file.parent.iterdir()] == ["contexts.toml"]


def test_a_key_of_standard_input_is_kept_in_a_file_that_only_its_owner_can_read(
    dcf_away: Dcf, contexts_file: Path
) -> None:
    added = dcf_away("context", "add", "prod", "--url", URL, "--json", stdin=f"{KEY}\n")
    key = contexts_file.parent / "prod.key"
    assert json.loads(added.stdout)["key_file"] == str(key)
    assert (key.read_text(), mode_of(key), mode_of(contexts_file)) == (f"{KEY}\n", 0o600, 0o600)
    assert mode_of(contexts_file.parent) == 0o700


def test_no_command_and_no_file_but_the_key_file_shows_a_key(
    dcf_away: Dcf, contexts_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = dcf_away("context", "add", "prod", "--url", URL, stdin=KEY).output
    monkeypatch.setenv("DCF_API_KEY", KEY)
    for words in ("show", "show --json", "ls", "ls --json", "use prod --json", "rm prod --yes"):
        output += dcf_away("context", "show", *words.split()).output
    assert KEY not in output + contexts_file.read_text()


def test_a_context_uses_the_key_file_that_is_named_and_does_not_remove_it(dcf_away: Dcf, tmp_path: Path) -> None:
    key = tmp_path / "mine.key"
    key.write_text(KEY)
    key.chmod(0o600)
    assert dcf_away("context", "add", "prod", "--url", URL, "--key-file", key).exit_code == 0
    assert f"key file: {key}" in dcf_away("context", "show", "--context", "prod").stdout
    assert json.loads(dcf_away("context", "rm", "prod", "--yes", "--json").stdout)["key_removed"] is False
    assert key.exists()


def test_a_key_that_no_context_uses_any_more_is_not_kept(dcf_away: Dcf, contexts_file: Path) -> None:
    key = contexts_file.parent / "prod.key"
    dcf_away("context", "add", "prod", "--url", URL, stdin=KEY)
    dcf_away("context", "add", "prod", "--url", URL, "--replace", stdin=KEY.replace("k", "x"))
    assert key.read_text().strip() == KEY.replace("k", "x")
    dcf_away("context", "add", "prod", "--url", URL, "--replace", stdin="")
    assert not key.exists()


@rows(
    ("text", "mode", "said"),
    [
        (KEY, 0o640, "can be read or written by others"),
        (KEY, 0o602, "can be read or written by others"),
        ("", 0o600, "holds no API key"),
        ("two words", 0o600, "holds no API key"),
        (None, 0o600, "The key file of context prod is not there"),
    ],
)
def test_a_file_that_is_no_private_key_is_refused(
    dcf_away: Dcf, tmp_path: Path, text: str | None, mode: int, said: str
) -> None:
    key = tmp_path / f"{said[:3]}-{mode}-{len(text or '')}.key"
    if text is not None:
        key.write_text(text)
        key.chmod(mode)
    refused = dcf_away("context", "add", "prod", "--url", URL, "--key-file", key)
    assert refused.exit_code == 2
    assert said in " ".join(refused.stderr.split())
    assert KEY not in refused.output


def test_a_list_that_others_can_read_is_refused_by_every_command(dcf_away: Dcf, contexts_file: Path) -> None:
    dcf_away("context", "add", "prod", "--url", URL)
    contexts_file.chmod(0o644)
    for arguments in (
        ("context", "show"),
        ("context", "ls"),
        ("runs", "pause", "some-run"),
        ("ls",),
    ):
        refused = dcf_away(*arguments)
        assert refused.exit_code == 2
        assert "can be read or written by others" in " ".join(refused.stderr.split())


def test_a_name_that_is_taken_is_replaced_only_if_that_is_said(dcf_away: Dcf) -> None:
    dcf_away("context", "add", "prod", "--url", URL)
    refused = dcf_away("context", "add", "prod", "--url", "https://other.example/mcp")
    assert refused.exit_code == 2
    assert "There is a context prod already. Add --replace" in " ".join(refused.stderr.split())
    dcf_away("context", "add", "prod", "--url", "https://other.example", "--replace")
    assert dcf_away("context", "show", "--context", "prod").stdout.startswith("prod: https://other.example/mcp\n")


@rows(
    "arguments",
    [
        ("add", "local", "--url", URL),
        ("add", "no name", "--url", URL),
        ("add", "prod", "--url", "prod.example"),
        ("add", "prod", "--url", "https://ada:secret@prod.example/mcp"),
        ("add", "prod", "--url", URL, "--project", "no id"),
        ("use", "nobody"),
        ("rm", "nobody", "--yes"),
        ("rm", "local", "--yes"),
        ("ls", "--context", "nobody"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_refused_and_nothing_is_written(
    dcf_away: Dcf, contexts_file: Path, arguments: tuple[str, ...]
) -> None:
    refused = dcf_away("context", "show", *arguments)
    assert refused.exit_code == 2
    assert "secret" not in refused.output
    assert not contexts_file.exists()


def test_who_chooses_a_context_is_told_what_overrules_it(dcf_away: Dcf) -> None:
    dcf_away("context", "add", "prod", "--url", URL)
    used = dcf_away("context", "use", "prod", REDIS_URL=NOWHERE)
    assert "context prod is chosen, but not in use here: REDIS_URL is set" in used.stderr
    assert "It is in use because REDIS_URL is set." in dcf_away("context", "show", REDIS_URL=NOWHERE).stdout
    both = {"REDIS_URL": NOWHERE, "DCF_SERVER_URL": URL}
    assert dcf_away("context", "show", **both).stdout.startswith("local: ")
    alone = dcf_away("context", "ls", DCF_SERVER_URL=URL)
    assert f"server {URL} is in use: DCF_SERVER_URL is set" in alone.stderr


def test_a_context_may_be_named_before_and_behind_a_command(dcf_away: Dcf) -> None:
    dcf_away("context", "add", "prod", "--url", URL)
    for arguments in (
        ("--context", "prod", "context", "show"),
        ("context", "show", "--context=prod"),
        ("context", "ls", "--context", "prod"),
    ):
        assert "prod" in dcf_away(*arguments).stdout
    before = json.loads(dcf_away("--context", "prod", "context", "show", "--json", DCF_CONTEXT="local").stdout)
    assert (before["name"], before["because"]) == ("prod", "--context names it")
    assert json.loads(dcf_away("context", "show", "--json").stdout)["name"] == "local", "an option counts once"
