"""Keeps a caller whose key is bound to a project within it. Here once for all tools, called by `envelope`.

A tool is checked by the things that it names. Runs that it names (`ToolSpec.runs_named`) are looked up: a run of
another project is unknown to this caller. An argument `project` is filled in, so that lists show, and new runs get, the
caller's project only. A tool that has neither and is not `of_no_run` spans projects, and is refused. The project of a
run never changes, so that it is still valid after the check. A caller that creates a run under an id of another project
is refused where the run is written (`core/lifecycle/creation.py`). A caller without a project costs no command.
"""

from typing import TYPE_CHECKING

from dcf.core.access.model import Caller
from dcf.errors import AgentUnknown, Forbidden, UnknownRun
from dcf.verbs.registry import Arguments, ToolSpec
from dcf.workforce.crew.names import runs_of

if TYPE_CHECKING:
    from dcf.application.application import Application

_FIELD = "project"


def in_own_project(spec: ToolSpec, caller: Caller, checked: Arguments) -> Arguments:
    """Fill in the project of the caller; raise Forbidden for another one, and for a tool that spans projects."""
    if caller.project is None:
        return checked
    if _FIELD in spec.arguments.model_fields:
        if getattr(checked, _FIELD) not in {None, caller.project}:
            raise Forbidden(
                f"This key is bound to project '{caller.project}' and sees no other.",
                f"Leave {_FIELD} out of the call, or use a key of the project that you mean.",
            )
        return checked.model_copy(update={_FIELD: caller.project})
    if not spec.of_no_run and not any(spec.runs_named(checked)):
        raise Forbidden(
            f"`{spec.name}` spans projects, and this key is bound to project '{caller.project}'.",
            "Name a run of the project, or use a key that is not bound: `dcf keys add` without --project.",
        )
    return checked


def refuse_other_projects(spec: ToolSpec, app: "Application", caller: Caller, checked: Arguments) -> None:
    """Raise UnknownRun if the call names a run that is not of the caller's project; reads if the caller has one."""
    if caller.project is None:
        return
    for run in spec.runs_named(checked):
        if app.projects.of_run(run) != caller.project:
            raise UnknownRun(run)


def sees_agent(app: "Application", caller: Caller, tags: tuple[str, ...]) -> bool:
    """Return False for an agent, by its tags, that was made for runs of other projects than the caller's."""
    runs = () if caller.project is None else runs_of(tags)
    return not runs or any(app.projects.of_run(run) == caller.project for run in runs)


def refuse_other_agents(app: "Application", caller: Caller, agent_id: str) -> None:
    """Raise AgentUnknown for an agent that the caller does not see; an agent without a record is a mere name."""
    if caller.project is None or caller.agent_id == agent_id:
        return
    try:
        agent = app.platforms.provisioner_of(agent_id).retrieve_agent(agent_id)
    except AgentUnknown:
        return
    if not sees_agent(app, caller, agent.tags):
        raise AgentUnknown(f"There is no agent '{agent_id}'.")
