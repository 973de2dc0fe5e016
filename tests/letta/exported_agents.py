"""Workflows whose agent was exported by Letta, from each of the four sources of templates."""

import json
from pathlib import Path
from typing import Any, Final

from tests.support.paths import ROOT

EXPORTED: Final = ROOT / "tests" / "letta" / "exported"
NAMES: Final = ("claims-triage", "Claims Lead")
SOURCES: Final = ("embedded", "imported", "on disk", "inline")
"""In the order in which they are searched."""


def export(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXPORTED / name).read_text("utf-8"))
    return document


def workflow(run: str, name: str, *sources: str) -> dict[str, Any]:
    """Return a workflow whose Task is for the agent of this name, and that has it from these sources.

    Each source marks its agent with a tag. The directories must be those of `write_sources`.
    """
    task = {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": name}}, "End": True}
    made: dict[str, Any] = {"workflow_id": run, "workflow_name": "Claims", "version": "1.0.0"}
    if "embedded" in sources:
        made["af_v2_entities"] = marked("lead.af", "embedded")
    if "imported" in sources:
        made["af_imports"] = [{"uri": uri, "version": "2"} for uri in ("triage.af", "lead.af")]
    if "inline" in sources:
        legacy = export("triage_v1.json")
        legacy["tags"].append({"tag": "from:inline"})
        made["agents"] = [{"agent_name": name, "agent_config": legacy | {"name": name}}]
    return made | {"asl": {"StartAt": "Triage", "States": {"Triage": task}}}


def marked(file: str, source: str) -> dict[str, Any]:
    """Return an export whose agents have a tag that says where they come from."""
    marked = export(file)
    for agent in marked["agents"]:
        agent["tags"].append(f"from:{source}")
    return marked


def write_sources(imports: Path, templates: Path) -> None:
    """Write the exports to where workflows import them from, and to the directory of templates."""
    for directory in (imports, templates):
        directory.mkdir()
    for file in ("triage.af", "lead.af"):
        (imports / file).write_text(json.dumps(marked(file, "imported")))
    for name, file in zip(NAMES, ("triage.af", "lead.af"), strict=True):
        (templates / f"{name}.af").write_text(json.dumps(marked(file, "on disk")))
