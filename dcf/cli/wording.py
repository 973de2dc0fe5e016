"""Puts the sentences of the core, which name tools, into the words of the command line."""

from typing import Final

from dcf.cli.text import clean

_COMMANDS: Final = (
    ("hold_run with hold=false", "hold {} --release"),
    ("resume_run", "resume {}"),
    ("cancel_run", "cancel {}"),
    ("resolve_state", "resolve {}"),
    ("delete_run", "delete {}"),
    ("explain_run", "why {}"),
    ("finalize_workflow", "finalize {}"),
    ("read_workflow_control_plane", "show {}"),
    ("list_runs", "ls"),
)
"""The command that does what a tool does; longer phrases first."""


def in_commands(sentence: str, run: str) -> str:
    """Return a sentence about a run with the names of commands in place of those of tools."""
    for tool, command in _COMMANDS:
        sentence = sentence.replace(tool, f"`dcf {command.format(clean(run))}`")
    return sentence.replace("with rerun", f"with `dcf rerun {clean(run)}`")


def in_catalogue_commands(sentence: str) -> str:
    """Return a sentence about findings or definitions with the names of commands in place of those of tools."""
    for tool in ("add", "search", "get", "update", "delete"):
        command = "show" if tool == "get" else tool
        sentence = sentence.replace(f"{tool}_findings", f"`dcf findings {command}`")
        sentence = sentence.replace(f"{tool}_finding", f"`dcf findings {command}`")
    for tool in ("put", "search", "get", "delete"):
        command = "show" if tool == "get" else tool
        sentence = sentence.replace(f"{tool}_definitions", f"`dcf catalogue {command}`")
        sentence = sentence.replace(f"{tool}_definition", f"`dcf catalogue {command}`")
    return sentence.replace("superseded_by", "--superseded-by")
