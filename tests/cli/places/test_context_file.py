"""The file of contexts: what is written is read again, and what is not understood is refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dcf.cli.places.context import NOTHING, Context, Contexts
from dcf.cli.places.context_file import path_of_contexts, read_contexts, write_contexts
from dcf.cli.places.private_files import write_private
from dcf.errors import InvalidArgument
from tests.support.tables import rows

NAMES = some.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,10}", fullmatch=True).filter(lambda name: name != "local")
PATHS = some.text(min_size=1).filter(str.isprintable)
CONTEXT = some.builds(
    lambda name, key_file, project: Context(name=name, url=f"https://{name}/mcp", key_file=key_file, project=project),
    NAMES,
    some.none() | PATHS,
    some.none() | NAMES,
)


@given(some.lists(CONTEXT), some.booleans())
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Context], use: bool
) -> None:
    known = {context.name: context for context in listed}
    contexts = Contexts(known=known, current=next(iter(known), None) if use else None)
    path = tmp_path_factory.mktemp("contexts") / "contexts.toml"
    write_contexts(path, contexts)
    assert read_contexts(path) == contexts


def test_without_a_file_there_are_no_contexts(tmp_path: Path) -> None:
    assert read_contexts(tmp_path / "none" / "contexts.toml") == NOTHING


@rows(
    "text",
    [
        "current = ",
        'current = "nobody"',
        "current = 5",
        'default = "prod"',
        "contexts = 5",
        "[contexts.prod]",
        '[contexts.prod]\nurl = "nonsense"',
        "[contexts.prod]\nurl = 5",
        '[contexts.local]\nurl = "https://host/mcp"',
        '[contexts."no name"]\nurl = "https://host/mcp"',
        '[contexts.prod]\nurl = "https://host/mcp"\nkey = "dcf_secret"',
        '[contexts.prod]\nurl = "https://host/mcp"\nproject = "no id"',
    ],
)
def test_what_is_not_understood_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "contexts.toml"
    write_private(path, text)
    with pytest.raises(InvalidArgument, match=r"contexts\.toml is no") as refused:
        read_contexts(path)
    assert "secret" not in f"{refused.value.message} {refused.value.hint}"


def test_a_path_that_toml_cannot_hold_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "contexts.toml"
    good = Contexts(known={"prod": Context(name="prod", url="https://host/mcp")})
    write_contexts(path, good)
    with pytest.raises(InvalidArgument, match="key_file has characters"):
        write_contexts(path, Contexts(known={"prod": Context(name="prod", url="https://host/mcp", key_file="a\nb")}))
    assert read_contexts(path) == good


def test_a_directory_a_pipe_and_a_path_through_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Is a directory"):
        read_contexts(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidArgument, match="is no file"):
        read_contexts(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="cannot be used"):
        write_contexts(tmp_path / "file" / "contexts.toml", NOTHING)


@rows("text", [b"\xff\xfe", b"#" * 300_000], ids=["no text", "too large"])
def test_a_file_that_is_no_list_is_not_read_on(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "contexts.toml"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(InvalidArgument, match=r"is too large|is no text"):
        read_contexts(path)


def test_the_file_is_where_the_environment_says() -> None:
    home = Path.home()
    assert path_of_contexts({}) == home / ".config" / "dcf" / "contexts.toml"
    assert path_of_contexts({"XDG_CONFIG_HOME": "/etc/ada"}) == Path("/etc/ada/dcf/contexts.toml")
    assert path_of_contexts({"DCF_CONTEXTS": "~/c.toml", "XDG_CONFIG_HOME": "/etc/ada"}) == home / "c.toml"
