"""Settings from the environment, as the contract names them."""

import os
import re
from pathlib import Path

import pytest

from dcf.errors import InvalidArgument
from dcf.settings import process as settings
from dcf.settings.meanings import meanings_of
from dcf.settings.process import read_settings
from tests.support.paths import ROOT
from tests.support.tables import rows


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name.startswith("DCF_") or name == "REDIS_URL":
            monkeypatch.delenv(name)


def test_nothing_needs_to_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = read_settings()
    assert settings.redis_url is None
    assert settings.data_dir == tmp_path / "dcf"
    assert (settings.mcp_host, settings.mcp_port) == ("127.0.0.1", 8337)
    assert settings.mcp_enable_dns_rebinding_protection
    assert settings.mcp_allowed_hosts == (
        "localhost",
        "localhost:*",
        "127.0.0.1",
        "127.0.0.1:*",
        "dcf-mcp",
        "dcf-mcp:*",
    )
    assert settings.mcp_allowed_origins == ("http://localhost:*", "http://127.0.0.1:*", "http://dcf-mcp:*")
    assert (settings.toolsets, settings.read_only, settings.allow_operator) == ((), False, False)


@rows("word", ["1", "true", "TRUE", "t", "yes", "y", "on", "On"])
def test_true_may_be_written_in_many_ways(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("DCF_ALLOW_OPERATOR", word)
    assert read_settings().allow_operator


@rows("word", ["0", "false", "False", "f", "no", "n", "off"])
def test_false_may_be_written_in_many_ways(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("DCF_MCP_ENABLE_DNS_REBINDING_PROTECTION", word)
    assert not read_settings().mcp_enable_dns_rebinding_protection


def test_a_blank_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = read_settings()
    for name in (
        "REDIS_URL",
        "DCF_DATA_DIR",
        "DCF_APPENDFSYNC",
        "DCF_MCP_PORT",
        "DCF_MCP_ENABLE_DNS_REBINDING_PROTECTION",
        "DCF_MCP_ALLOWED_HOSTS",
        "DCF_MCP_ALLOWED_ORIGINS",
        "DCF_TOOLSETS",
        "DCF_READ_ONLY",
        "DCF_PULSE_INTERVAL_S",
        "DCF_SERVER_URL",
    ):
        monkeypatch.setenv(name, "")
    assert read_settings() == unset


def test_lists_are_separated_by_commas_and_blanks_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCF_MCP_ALLOWED_HOSTS", " dcf.example , ,other:* ")
    monkeypatch.setenv("DCF_MCP_ALLOWED_ORIGINS", " , ")
    monkeypatch.setenv("DCF_TOOLSETS", "planning,execution")
    settings = read_settings()
    assert settings.mcp_allowed_hosts == ("dcf.example", "other:*")
    assert settings.mcp_allowed_origins[0] == "http://localhost:*"
    assert settings.toolsets == ("planning", "execution")


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("DCF_MCP_PORT", "http", "a whole number"),
        ("DCF_MCP_PORT", "-1", "0 or more"),
        ("DCF_MCP_PORT", "70000", "65535 or less"),
        ("DCF_APPENDFSYNC", "no", "'everysec' or 'always'"),
        ("DCF_MCP_ENABLE_DNS_REBINDING_PROTECTION", "maybe", "true or false"),
        ("DCF_READ_ONLY", "2", "true or false"),
        ("DCF_ALLOW_OPERATOR", "sure", "true or false"),
        ("DCF_PULSE_INTERVAL_S", "often", "a number"),
        ("DCF_PULSE_INTERVAL_S", "0", "more than 0"),
        ("DCF_PULSE_INTERVAL_S", "nan", "60 or less"),
        ("DCF_PULSE_INTERVAL_S", "61", "60 or less"),
        ("DCF_MAX_DOCUMENT_BYTES", "1023", "1024 or more"),
        ("DCF_MAX_DOCUMENT_BYTES", "1048577", "1048576 or less"),
        ("DCF_SERVER_URL", "localhost:8337", "a URL that begins with http:// or https://"),
        ("ALLOW_MCP_SKILLS", "maybe", "true or false"),
        ("SKILL_MAX_TEXT_CHARS", "x", "a whole number"),
        ("SKILL_PREVIEW_CHARS", "0", "1 or more"),
        ("DCF_SKILL_EGRESS", "moon", "'none', 'intranet' or 'internet'"),
    ],
)
def test_a_wrong_variable_is_named_with_what_it_should_be(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, wanted: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidArgument) as refused:
        read_settings()
    assert refused.value.message == f"{variable} must be {wanted}."
    assert refused.value.hint.startswith("It sets: ")


def test_the_settings_of_skills_have_the_names_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_PATH", "elsewhere/registry.json")
    monkeypatch.setenv("SKILL_STATE_BLOCK_LABEL", "my_skills")
    monkeypatch.setenv("ALLOW_MCP_SKILLS", "no")
    monkeypatch.setenv("ALLOW_PYTHON_SOURCE_SKILLS", "1")
    monkeypatch.setenv("DCF_SKILL_SECRETS", "API_KEY, OTHER")
    settings = read_settings()
    assert (settings.skill_registry, settings.skill_state_label) == (Path("elsewhere/registry.json"), "my_skills")
    assert (settings.allow_mcp_skills, settings.allow_python_source_skills) == (False, True)
    assert settings.skill_secrets == ("API_KEY", "OTHER")


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:pw-canary@redis:6379/0")
    assert "pw-canary" not in repr(read_settings())


def test_items_are_read_from_no_directory_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (read_settings().items_dirs, read_settings().items_max_bytes) == ((), 16 * 1024 * 1024)
    monkeypatch.setenv("DCF_ITEMS_DIRS", "items, /srv/more items,")
    monkeypatch.setenv("DCF_ITEMS_MAX_BYTES", "1000")
    assert read_settings().items_dirs == (Path("items"), Path("/srv/more items"))
    assert read_settings().items_max_bytes == 1000


@rows("size", ["0", "-1", "many"])
def test_the_bytes_of_items_are_a_positive_number(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("DCF_ITEMS_MAX_BYTES", size)
    with pytest.raises(InvalidArgument, match="DCF_ITEMS_MAX_BYTES must be"):
        read_settings()


def test_every_setting_says_what_it_means_below_its_field() -> None:
    meanings = meanings_of(settings.Settings)
    assert meanings.keys() == settings.Settings.model_fields.keys()
    assert meanings["mcp_port"] == "port of the HTTP transport; 0 takes a free one"


def test_the_reference_has_every_setting_once_and_no_other() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    table, others = page.split("## Variables of other programs")
    named = [name for row in table.splitlines() for name in re.findall(r"^\| `([A-Z0-9_]+)` \|", row)]
    assert sorted(named) == sorted(settings.VARIABLES)
    mentioned = set(re.findall(r"`((?:[A-Z][A-Z0-9]*_)+[A-Z]+)(?:=[^`]*)?`", table))
    assert mentioned <= set(settings.VARIABLES)
    assert not set(re.findall(r"^\| `([A-Z0-9_]+)`", others, re.MULTILINE)) & set(settings.VARIABLES)
