"""`dcf keys`, `dcf agents tools`, and what `dcf serve` refuses to expose."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.authors import authored_by
from dcf.store.connection.connections import Connections
from dcf.values.instants import SECOND, from_text
from dcf.values.profile_names import SYSTEM_PROFILES
from dcf.verbs.listed_tools import profiles
from tests.support.paths import ROOT
from tests.support.redis.redis_contents import everything_in
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

Dcf = Callable[..., Result]


def _listed(dcf: Dcf) -> dict[str, dict[str, object]]:
    return {row["key_id"]: row for row in json.loads(dcf("keys", "ls", "--json").stdout)}


def test_a_key_is_shown_once_and_only_its_id_is_listed(
    dcf: Dcf, real_connections: Connections, onlooker: Connections
) -> None:
    made = json.loads(dcf("keys", "add", "--any-agent", "--label", "a worker", "--json").stdout)
    caller = AccessKeys(real_connections).admit(made["key"])
    assert caller is not None
    assert caller.scopes == {Scope.READ}
    row = _listed(dcf)[made["key_id"]]
    assert (row["standing"], row["label"], row["agent_id"]) == ("active", "a worker", None)
    for shown in (dcf("keys", "ls").output, dcf("keys", "ls", "--json").output, everything_in(onlooker)):
        assert made["key"].split("_", 2)[2] not in shown


def test_the_key_alone_is_on_standard_output(dcf: Dcf) -> None:
    result = dcf("keys", "add", "--scope", "plan", "--scope", "read", "--agent-id", "planner-1", "--expires", "90d")
    key = result.stdout.strip()
    assert key.startswith("dcf_")
    assert key not in result.stderr
    assert "read, plan" in result.stderr
    row = _listed(dcf)[key.split("_")[1]]
    assert (row["scopes"], row["agent_id"]) == (["read", "plan"], "planner-1")
    assert row["expires_at"] is not None


def test_a_key_lasts_ninety_days_and_may_only_read_unless_asked_for_more(dcf: Dcf) -> None:
    result = dcf("keys", "add", "--agent-id", "me")
    key_id = result.stdout.split("_")[1]
    assert f"key {key_id} may read as me, for 90d" in result.stderr
    assert "callers set DCF_API_KEY to it" in result.stderr
    assert "its quotas are those of the servers" in result.stderr
    row = _listed(dcf)[key_id]
    life = (from_text(str(row["expires_at"])) or 0) - (from_text(str(row["created_at"])) or 0)
    assert (row["scopes"], life) == (["read"], 90 * 86_400 * SECOND)


def test_a_key_that_lasts_for_ever_is_asked_for(dcf: Dcf) -> None:
    result = dcf("keys", "add", "--any-agent", "--expires", "never")
    assert "as any agent, for ever" in result.stderr
    assert _listed(dcf)[result.stdout.split("_")[1]]["expires_at"] is None


def test_a_key_shows_its_quotas_and_what_it_uses(dcf: Dcf, real_connections: Connections) -> None:
    result = dcf("keys", "add", "--any-agent", "--quota", "documents=7", "--quota", "calls_per_s=0.5")
    key_id = result.stdout.split("_")[1]
    assert "its quotas are documents=7 calls_per_s=0.5" in result.stderr
    assert _listed(dcf)[key_id]["own_quotas"] == {"documents": 7, "calls_per_s": 0.5}
    account = Account(key_id=key_id, quotas=Quotas())
    with authored_by("key:x", account):
        edits = Edits(real_connections)
        write = EditedDocument(document={"n": 1}, receipt={}, life_s=60, keep_s=1)
        edits.transact("doc:shown", "1", lambda _: EditOutcome(answer=None, written=write))
    shown = json.loads(dcf("keys", "show", key_id, "--json").stdout)["quotas"]
    assert shown["documents"] == {"limit": 7, "used": 1}
    assert shown["stored_bytes"]["limit"] == 64 * 1024**2
    assert len('{"n":1}') < shown["stored_bytes"]["used"] < 100, "the receipt of the write counts as well"
    assert shown["calls_per_s"] == {"limit": 0.5, "used": None}
    page = dcf("keys", "show", key_id).stdout
    assert "documents" in page
    assert "the server's settings" in page
    assert "documents=7" in dcf("keys", "ls").stdout.replace("\n", "")


def test_a_revoked_key_stays_listed_and_opens_nothing(dcf: Dcf, real_connections: Connections) -> None:
    made = json.loads(dcf("keys", "add", "--any-agent", "--json").stdout)
    assert dcf("keys", "revoke", made["key_id"]).exit_code == 0
    assert dcf("keys", "revoke", made["key_id"], "--json").exit_code == 0
    assert _listed(dcf)[made["key_id"]]["standing"] == "revoked"
    assert AccessKeys(real_connections).admit(made["key"]) is None


@rows(
    ("arguments", "code", "said"),
    [
        (["add"], 2, "give either --agent-id or --any-agent"),
        (["add", "--agent-id", "a", "--any-agent"], 2, "give either --agent-id or --any-agent"),
        (["add", "--any-agent", "--quota", "documents"], 2, "--quota names no quota"),
        (["add", "--any-agent", "--quota", "cakes=3"], 2, "NAME is one of: calls_per_s"),
        (["add", "--any-agent", "--quota", "documents=many"], 2, "must be a whole number between 0 and 100000"),
        (["add", "--any-agent", "--quota", "documents=-1"], 2, "must be a whole number between 0 and 100000"),
        (["add", "--any-agent", "--quota", "calls_per_s=nan"], 2, "must be a number between 0.001 and 100000"),
        (["show", "ffffffffffff"], 3, "There is no API key 'ffffffffffff'"),
        (["show", "*"], 2, "ID is not the id of a key"),
        (["add", "--scope", "everything"], 2, "everything"),
        (["add", "--agent-id", "a b"], 2, "--agent-id"),
        (["add", "--any-agent", "--expires", "soon"], 2, "--expires is no length of time"),
        (["add", "--any-agent", "--expires", "0d"], 2, "--expires is no length of time"),
        (["add", "--any-agent", "--expires", "9999d"], 2, "at most ten years"),
        (["add", "--any-agent", "--label", "x" * 101], 2, "--label"),
        (["add", "--any-agent", "--label", "a\x1b[2J"], 2, "--label"),
        (["revoke", "ffffffffffff"], 3, "There is no API key 'ffffffffffff'"),
        (["revoke", "*"], 2, "ID is not the id of a key"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(dcf: Dcf, arguments: list[str], code: int, said: str) -> None:
    result = dcf("keys", *arguments)
    assert result.exit_code == code
    assert said in result.output


def test_a_key_passed_in_place_of_its_id_is_not_repeated(dcf: Dcf) -> None:
    made = json.loads(dcf("keys", "add", "--any-agent", "--json").stdout)
    result = dcf("keys", "revoke", made["key"])
    assert result.exit_code == 2
    assert made["key"] not in result.output


# What is not exposed


@rows(
    ("environment", "said"),
    [
        ({}, "needs the host names by which clients call this server"),
        ({"DCF_MCP_ALLOWED_HOSTS": "dcf.example"}, "need an API key, and there is none"),
        ({"DCF_AUTH": "off", "DCF_MCP_ALLOWED_HOSTS": "dcf.example"}, "only loopback is served"),
        (
            {"DCF_MCP_ALLOWED_HOSTS": "x", "DCF_MCP_ENABLE_DNS_REBINDING_PROTECTION": "false"},
            "needs the host names by which clients call this server",
        ),
    ],
    ids=["nothing set", "no key", "no authentication", "no check of hosts"],
)
@rows("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_others_are_not_served_without_keys_and_host_names(
    dcf_alone: Dcf, environment: dict[str, str], said: str, host: str
) -> None:
    result = dcf_alone("serve", "--transport", "http", "--host", host, "--port", "0", **environment)
    assert result.exit_code == 2
    assert said in result.output


def test_this_machine_is_not_served_without_keys_unless_asked_to(dcf_alone: Dcf) -> None:
    result = dcf_alone("serve", "--transport", "http", "--port", "0")
    assert result.exit_code == 2
    assert "need an API key, and there is none" in result.output
    assert "--auth off" in result.output


def test_the_flag_says_the_same_as_the_variable(dcf: Dcf) -> None:
    result = dcf("serve", "--transport", "http", "--host", "0.0.0.0", "--auth", "off")
    assert "only loopback is served" in result.output
    assert "--auth is not keys or off" in dcf("serve", "--auth", "maybe").output
    assert "There is no profile 'boss'" in dcf("serve", "--profile", "boss").output


# The audit trail


def test_the_trail_tells_of_keys_made_and_revoked(dcf_alone: Dcf) -> None:
    assert "Nothing was changed" in dcf_alone("store", "audit").stdout
    made = json.loads(dcf_alone("keys", "add", "--agent-id", "me", "--json").stdout)
    dcf_alone("keys", "revoke", made["key_id"])
    revoked, created = json.loads(dcf_alone("store", "audit", "--json").stdout)
    assert (revoked["change"], revoked["about"]) == ("keys revoke", {"key_id": made["key_id"]})
    assert created["about"] == {"agent_id": "me", "key_id": made["key_id"], "scopes": "read"}
    assert (created["by"], created["outcome"]) == ("local", "ok")
    assert "keys add" in dcf_alone("store", "audit", "--limit", "2").stdout
    assert made["key"].split("_", 2)[2] not in dcf_alone("store", "audit", "--json").stdout


def test_the_trail_is_exported_line_by_line_and_goes_on_where_it_ended(dcf_alone: Dcf, tmp_path: Path) -> None:
    made = json.loads(dcf_alone("keys", "add", "--any-agent", "--json").stdout)
    file = tmp_path / "trail.jsonl"
    first = dcf_alone("store", "audit", "--export", str(file), "--type", "keys add")
    cursor = first.stderr.split("--after ")[1].strip()
    dcf_alone("keys", "revoke", made["key_id"])
    assert dcf_alone("store", "audit", "--export", str(file), "--after", cursor).exit_code == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    last = lines[-4:]
    assert [(line["change"], line["outcome"]) for line in last] == [
        ("keys add", None),
        ("keys add", "ok"),
        ("keys revoke", None),
        ("keys revoke", "ok"),
    ]
    assert last[1]["of"] == last[0]["id"]
    assert file.stat().st_mode & 0o077 == 0
    assert [json.loads(line)["id"] for line in dcf_alone("store", "audit", "--export", "-").stdout.splitlines()] == [
        line["id"] for line in json.loads(json.dumps(lines))
    ]


def test_the_trail_is_filtered_by_key_type_and_time(dcf_alone: Dcf) -> None:
    dcf_alone("keys", "add", "--any-agent")
    assert json.loads(
        dcf_alone("store", "audit", "--json", "--key", "local", "--type", "keys add", "--limit", "1").stdout
    )
    for nothing in (["--key", "0123456789ab"], ["--type", "refusal"], ["--since", "2999-01-01T00:00:00Z"]):
        assert json.loads(dcf_alone("store", "audit", "--json", *nothing).stdout) == []
        assert "There is no such entry" in dcf_alone("store", "audit", *nothing).stdout
    assert json.loads(dcf_alone("store", "audit", "--json", "--until", "2001-01-01T00:00:00Z").stdout) == []


@rows(
    ("arguments", "said"),
    [
        (["--since", "yesterday"], "--since is no point in time"),
        (["--after", "1-1"], "goes with --export"),
        (["--export", "-", "--after", "last"], "--after is the id of an entry"),
        (["--export", "/"], "cannot be written"),
    ],
)
def test_what_the_audit_command_does_not_understand_is_said(dcf_alone: Dcf, arguments: list[str], said: str) -> None:
    result = dcf_alone("store", "audit", *arguments)
    assert result.exit_code == 2
    assert said in result.output


# The reference


def test_tools_are_listed_with_their_scopes(dcf: Dcf) -> None:
    lines = dcf("agents", "tools", "--profile", "worker").stdout.splitlines()
    assert 8 <= len(lines) <= 13
    assert any(line.startswith("work     acquire_state_lease ") for line in lines)
    surface = json.loads(dcf("agents", "tools", "--json").stdout)
    assert surface["finalize_workflow"]["scope"] == "plan"


def test_the_help_of_the_server_names_every_list_of_tools(dcf: Dcf) -> None:
    text = set(re.findall(r"[\w-]+", dcf("serve", "--help").output))
    assert {*profiles(), *SYSTEM_PROFILES} <= text


def test_the_reference_page_is_what_the_command_prints(dcf: Dcf) -> None:
    page = ROOT / "docs" / "reference" / "tools.md"
    assert dcf("agents", "tools", "--markdown").stdout == page.read_text("utf-8")


def test_the_servers_of_the_session_have_keys_of_their_own(server: RestrictedRedis, dcf_alone: Dcf) -> None:
    """`dcf keys` without REDIS_URL works on the embedded server of DCF_DATA_DIR."""
    made = json.loads(dcf_alone("keys", "add", "--any-agent", "--json").stdout)
    assert made["key_id"] in _listed(dcf_alone)


def test_a_key_may_be_served_the_tools_of_another_system(dcf: Dcf, real_connections: Connections) -> None:
    made = json.loads(dcf("keys", "add", "--any-agent", "--profile", "midex", "--json").stdout)
    assert made["profile"] == "midex"
    caller = AccessKeys(real_connections).admit(made["key"])
    assert caller is not None
    assert caller.profile == "midex"
    refused = dcf("keys", "add", "--any-agent", "--profile", "nothing-there")
    assert refused.exit_code == 2
    assert "mission-control" in refused.output
