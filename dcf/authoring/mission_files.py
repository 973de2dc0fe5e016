"""Finds a plan of Mission Control below a project, and its agents. It must not write.

Agents are the files of `.claude/agents` of the project and of the user. The front matter of such a file names the tools
of the agent; the rest of the file is for the agent.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dcf.authoring.files import SourceFiles
from dcf.authoring.front_matter import split
from dcf.authoring.mission_plans import DEFINITION, WORKFLOW, MissionTexts
from dcf.core.documents.stored_values import object_of
from dcf.values.json_text import Json
from dcf.values.located import Report

FOLDER: Final = Path(".claude/workflows")
_AGENTS: Final = Path(".claude/agents")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,199}")
_LARGEST: Final = 256 * 1024
_MOST_AGENTS: Final = 500
_MOST_WORKFLOWS: Final = 100


def read_texts(project: Path, name: str, home: Path | None, report: Report) -> MissionTexts | None:
    """Return the files of a plan; None if there is none of this name, or, with a problem, if it cannot be read."""
    folder = project / FOLDER / name
    if not _NAME.fullmatch(name) or not (folder / WORKFLOW).is_file():
        return None
    files = SourceFiles(folder, report)
    workflow = files.read(WORKFLOW, max_bytes=_LARGEST)
    definition = files.read(DEFINITION, max_bytes=_LARGEST) if files.has(DEFINITION) else None
    if workflow is None:
        return None
    places = [base / _AGENTS for base in (home, project) if base is not None]
    agents = {agent: tools for place in places for agent, tools in _agents(place).items()}
    return MissionTexts(name=name, workflow=workflow, definition=definition, agents=agents)


def workflow_names(project: Path) -> list[str]:
    """Return the names of the plans of a project: directories that have a workflow.md."""
    try:
        names = [file.parent.name for file in (project / FOLDER).glob(f"*/{WORKFLOW}") if file.is_file()]
    except OSError:
        return []
    return sorted(name for name in names if _NAME.fullmatch(name))[:_MOST_WORKFLOWS]


def write_texts(texts: MissionTexts) -> dict[str, Json]:
    """Return the files of a plan as JSON, for a server elsewhere."""
    agents = {name: None if tools is None else list(tools) for name, tools in texts.agents.items()}
    return {"workflow": texts.workflow, "definition": texts.definition, "agents": agents}


def _agents(folder: Path) -> Mapping[str, tuple[str, ...] | None]:
    files = SourceFiles(folder, Report())
    names = files.find("**/*.md") if folder.is_dir() else []
    agents: dict[str, tuple[str, ...] | None] = {}
    for name in names[:_MOST_AGENTS]:
        text = files.read(name, max_bytes=_LARGEST)
        parts = None if text is None else split(text, name, Report())
        about = {} if parts is None else object_of(parts[0].plain())
        agents[str(about.get("name") or Path(name).stem)] = _tools(about.get("tools"))
    return agents


def _tools(tools: Json) -> tuple[str, ...] | None:
    if tools is None:
        return None
    named = tools.split(",") if isinstance(tools, str) else tools if isinstance(tools, list) else []
    return tuple(str(tool).strip() for tool in named)
