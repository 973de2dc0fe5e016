"""Writes the files of a Mission Control workflow into a project: templates, agents, and the lines of CLAUDE.md.

Templates and agents that exist are left as they are, so that the command may be called again, with the id of the
workflow: only the section of CLAUDE.md is written again, and nothing else in that file.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from dcf.cli.text import clean
from dcf.data import PACKAGE
from dcf.errors import InvalidArgument

UNKNOWN_ID: Final = "<workflow_id>"

_SCAFFOLD: Final = PACKAGE / "cli" / "scaffold"
_AGENTS: Final = ("analyzer", "implementer")
_SECTION: Final = re.compile(r"^## Active Workflow\n.*?(?=^#{1,2} |\Z)", re.DOTALL | re.MULTILINE)
_ID: Final = re.compile(r"^workflow_id: `[^`\n]*`$", re.MULTILINE)


def write_mission(project: Path, name: str, workflow_id: str | None) -> dict[str, str]:
    """Write the files; return what was done with each: written, left, or changed."""
    words = {"name": name, "workflow_id": workflow_id or UNKNOWN_ID}
    folder = f".claude/workflows/{name}"
    texts = {
        f"{folder}/definition.md": filled("mission_definition.md.txt", words),
        f"{folder}/workflow.md": filled("mission_workflow.md.txt", words),
        f"{folder}/start.md": filled("mission_start.md.txt", words),
        ".claude/agents/workflow-architect.md": filled("mission_architect.md.txt", words),
        **{f".claude/agents/{agent}.md": filled("mission_agent.md.txt", {"agent": agent}) for agent in _AGENTS},
    }
    try:
        done = {path: _written(project / path, text) for path, text in texts.items()}
        if workflow_id is not None and done[f"{folder}/definition.md"] == "left":
            done[f"{folder}/definition.md"] = _identified(project / folder / "definition.md", workflow_id)
        done[".claude/CLAUDE.md"] = _added(project / ".claude/CLAUDE.md", filled("mission_claude.md.txt", words))
    except OSError as error:
        where = clean(str(error.filename or project))
        raise InvalidArgument(f"{where} cannot be written: {error.strerror}.", "Check the directory.") from None
    return done


def filled(template: str, words: Mapping[str, str]) -> str:
    """Return the text of a file of the scaffold, with words in it."""
    return Template((_SCAFFOLD / template).read_text("utf-8")).substitute(words)


def _written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        return "left"
    return "written"


def _identified(path: Path, workflow_id: str) -> str:
    """Write the id of the workflow into the line that has it."""
    before = path.read_text("utf-8")
    after = _ID.sub(f"workflow_id: `{workflow_id}`", before, count=1)
    if after == before:
        return "left"
    path.write_text(after, "utf-8")
    return "changed"


def _added(path: Path, section: str) -> str:
    """Write the section of the active workflow, in place of the one that there is."""
    before = path.read_text("utf-8") if path.exists() else ""
    if _SECTION.search(before):
        after = _SECTION.sub(lambda _: f"{section}\n", before, count=1).rstrip("\n") + "\n"
    else:
        after = f"{before.rstrip()}\n\n{section}" if before.strip() else section
    if after == before:
        return "left"
    path.write_text(after, "utf-8")
    return "changed" if before else "written"
