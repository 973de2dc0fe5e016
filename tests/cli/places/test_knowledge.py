"""Projects, findings and the catalogue at a server: what is kept there is what the same commands keep here."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli.conftest import Dcf

VARIES = ("finding_id", "created_at", "updated_at", "last_used_at", "created_by", "author")
"""The members that differ from place to place: time, actor, and the id that follows from the project."""


def answers(dcf: Dcf, context: str, name: str, file: Path) -> Iterator[Any]:
    """Keep, find and read one of each, and yield the answers that programs get."""
    of_project = ("--project", name)
    for command in (
        ("projects", "add", name, "--path", f"/srv/{name}", "--path", f"ci-1=/ci/{name}", "--features", '["cart"]'),
        ("projects", "show", "--path", f"ci-1=/ci/{name}"),
        ("findings", "add", "Prices lack a currency", "7 is not 7 EUR.", "--tag", "api", "--key", "k", *of_project),
        ("findings", "ls", "currency", "--severity", "medium", "--only-own", *of_project),
        ("catalogue", "add", "rule", name, file, "--glob", "*.py", "--tag", "python", *of_project),
        ("catalogue", "ls", name, "--file", "src/a.py", *of_project),
        ("catalogue", "show", "rule", name, *of_project),
        ("projects", "delete", name, "--yes"),
    ):
        shown = dcf(*command, "--json", "--context", context)
        assert shown.exit_code == 0, (command, shown.stderr)
        yield without(json.loads(shown.stdout), name)


def without(details: Any, name: str) -> Any:
    """Return an answer without the members that differ from place to place."""
    if isinstance(details, dict):
        return {key: without(value, name) for key, value in details.items() if key not in VARIES}
    if isinstance(details, list):
        return [without(item, name) for item in details]
    return details.replace(name, "NAME") if isinstance(details, str) else details


def test_what_is_known_is_kept_found_and_read_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, tmp_path: Path
) -> None:
    file = tmp_path / "rule.md"
    file.write_text("Type it.")
    here, there = (f"p-{secrets.token_hex(4)}" for _ in range(2))
    ours = list(answers(dcf, "local", here, file))
    assert list(answers(dcf_at_server, "prod", there, file)) == ours
