"""Which place a command works on: the first of what is said counts."""

from typing import Final

import pytest

from dcf.cli.places.context import Context, Contexts, choose, describe, with_path, with_project
from dcf.errors import InvalidArgument
from tests.support.tables import rows

PROD: Final = Context(name="prod", url="https://prod.example/mcp", key_file="/keys/prod", project="shop")
TEST: Final = Context(name="test", url="https://test.example/mcp")
KNOWN: Final = Contexts(known={"prod": PROD, "test": TEST}, current="prod")
URL: Final = "http://127.0.0.1:8337/mcp"
ALL: Final = {"DCF_CONTEXT": "test", "REDIS_URL": "redis://here", "DCF_SERVER_URL": URL}


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in ALL.items() if name not in names}


@rows(
    ("option", "environment", "name", "because"),
    [
        ("prod", ALL, "prod", "--context names it"),
        ("local", ALL, "local", "--context names it"),
        (None, ALL, "test", "DCF_CONTEXT names it"),
        (None, without("DCF_CONTEXT"), "local", "REDIS_URL is set"),
        (None, without("DCF_CONTEXT", "REDIS_URL"), "DCF_SERVER_URL", "DCF_SERVER_URL is set"),
        (None, {}, "prod", "`dcf context use prod` chose it"),
        (None, dict.fromkeys(ALL, ""), "prod", "`dcf context use prod` chose it"),
    ],
)
def test_the_first_of_what_is_said_counts(
    option: str | None, environment: dict[str, str], name: str, because: str
) -> None:
    chosen = choose(option, environment, lambda: KNOWN)
    assert (chosen.context.name, chosen.because) == (name, because)


def test_where_nothing_is_said_it_is_this_machine() -> None:
    chosen = choose(None, {}, lambda: Contexts(known={"prod": PROD}))
    assert (chosen.context.is_local, chosen.because) == (True, "no other one is chosen")


@rows("environment", [{"REDIS_URL": "redis://here"}, {"DCF_SERVER_URL": URL}], ids=str)
def test_who_says_by_the_environment_needs_no_file(environment: dict[str, str]) -> None:
    def unreadable() -> Contexts:
        raise AssertionError("the file was read")

    choose(None, environment, unreadable)


def test_a_server_of_the_environment_is_named_by_its_url_and_a_context_by_its_name() -> None:
    assert choose(None, {"DCF_SERVER_URL": URL}, lambda: KNOWN).title == f"server {URL}"
    assert choose("prod", {}, lambda: KNOWN).title == "context prod"


@rows("name", ["nobody", "no name", "../prod", ""], ids=str)
def test_a_context_that_is_not_known_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="There is no context") as refused:
        KNOWN.named(name)
    assert "dcf context ls" in refused.value.hint


@rows(
    "url", ["localhost:8337", "ftp://host/mcp", "http://", "https://ada:secret@host/mcp", "https://host/mcp?key=secret"]
)
def test_an_address_that_is_no_url_of_a_server_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidArgument, match="DCF_SERVER_URL must be a URL") as refused:
        choose(None, {"DCF_SERVER_URL": url}, lambda: KNOWN)
    assert "secret" not in f"{refused.value.message} {refused.value.hint}"


@rows(
    ("url", "whole"),
    [
        ("https://host", "https://host/mcp"),
        ("https://host/", "https://host/mcp"),
        ("https://host:1/dcf", "https://host:1/dcf"),
        ("https://host/mcp", "https://host/mcp"),
    ],
)
def test_a_url_without_a_path_gets_that_of_servers(url: str, whole: str) -> None:
    assert with_path(url) == whole


def test_the_project_of_a_context_is_used_where_a_call_takes_one_and_none_is_given() -> None:
    assert with_project({"project": None, "limit": 5}, PROD) == {"project": "shop", "limit": 5}
    assert with_project({"project": "other"}, PROD) == {"project": "other"}
    assert with_project({"limit": 5}, PROD) == {"limit": 5}
    assert with_project({"project": None}, TEST) == {"project": None}


def test_a_program_is_told_everything_but_the_key() -> None:
    assert describe(choose("prod", {}, lambda: KNOWN)) == {
        "name": "prod",
        "url": "https://prod.example/mcp",
        "key_file": "/keys/prod",
        "project": "shop",
        "because": "--context names it",
    }
