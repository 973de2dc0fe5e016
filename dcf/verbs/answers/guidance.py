"""Adds to an answer the calls that come next, where the tool itself has not said so, and to a failure what was meant.

Here once for all tools, so that no answer leaves its reader without a next step. Reads only after a failure.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from dcf.application.application import Application
from dcf.asl.machine import Machine, Parallel, every_state
from dcf.asl.state_paths import join, name_of, open_scope
from dcf.core.access.model import Caller, Scope
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery
from dcf.errors import DcfError, UnknownRun, UnknownState
from dcf.values.json_text import Json, dump, parse
from dcf.verbs.answers.next_calls import Call, calls_after_refusal, wait_again
from dcf.verbs.answers.suggestions import call_again, closest
from dcf.verbs.argument_checks import AlmostRight
from dcf.verbs.description.table import TABLE
from dcf.verbs.registry import Answer, Arguments, ToolSpec, printable
from dcf.verbs.unlisted import is_listed
from dcf.verbs.wording.steps import marked
from dcf.workforce.question_steps import to_answer, to_judge
from dcf.workforce.steps import Step, to_complete

_NEWEST_RUNS: Final = 100
_LONG_PAGE: Final = 8_000
_MOST_NAMES: Final = 50
_MOST_PATHS: Final = 1_000

After: TypeAlias = Callable[[Arguments, Any, str | None], list[Call]]
"""Returns the calls that follow a call that was carried out; the last argument is the calling agent."""


def guided(spec: ToolSpec, checked: Arguments, caller: Caller, answer: Answer) -> Answer:
    """Return the answer with the calls that come next, if there are any that the caller may make."""
    if answer.next is not None:
        legal = [marked(call) for call in answer.next if _may_call(call, caller)]
        return answer if legal == answer.next else answer.model_copy(update={"next": legal or None})
    agent_id = _agent_of(spec, checked, caller)
    if answer.code == "ok":
        made = AFTER.get(spec.name)
        calls = [] if made is None else made(checked, answer, agent_id)
    else:
        calls = _after_refusal(spec, answer.code, lambda name: getattr(checked, name, None), agent_id)
    allowed = _allowed(calls, caller)
    return answer.model_copy(update={"next": allowed}) if allowed else answer


def guide_failure(
    spec: ToolSpec, app: Application, error: DcfError, sent: Mapping[str, Json], caller: Caller
) -> tuple[str, list[Call]]:
    """Return a sentence that says what was probably meant, which may be empty, and the calls that come next."""
    fields = spec.arguments.model_fields
    arguments = {name: value for name, value in sent.items() if name not in fields or is_listed(fields[name])}
    if isinstance(error, AlmostRight):
        return "", [call_again(spec.name, {**arguments, **error.values}, error.renamed, "The same call, corrected.")]
    speaker = spec.acts_as and arguments.get(spec.acts_as)
    agent_id = caller.agent_id or (speaker if isinstance(speaker, str) else None)
    meant = _meant(app, error, arguments, caller.project) if Scope.READ in caller.scopes else None
    calls = _after_refusal(spec, error.code, arguments.get, agent_id)
    allowed = _allowed(calls, caller)
    if meant is None:
        return "", allowed
    name, value = meant
    again = call_again(spec.name, {**arguments, name: value}, {}, f"The same call with the {name} that is like yours.")
    return f"Did you mean '{printable(value)}'?", [again, *allowed]


def _allowed(calls: list[Call], caller: Caller) -> list[Call]:
    """Return the calls that the caller may make. Calls that a model is not shown are left out later."""
    return [marked(call) for call in calls if _may_call(call, caller)]


def _may_call(call: Call, caller: Caller) -> bool:
    return call["tool"] in TABLE and Scope(TABLE[call["tool"]].scope) in caller.scopes


def _agent_of(spec: ToolSpec, checked: Arguments, caller: Caller) -> str | None:
    speaker = None if spec.acts_as is None else getattr(checked, spec.acts_as)
    return speaker or caller.agent_id


def _meant(
    app: Application, error: DcfError, arguments: Mapping[str, Json], project: str | None
) -> tuple[str, str] | None:
    """Return the argument with an unknown run or state, and the one there is, in the project, that is most like it."""
    run = arguments.get("workflow_id")
    if not isinstance(run, str):
        return None
    if isinstance(error, UnknownRun):
        page = app.run_list.list_runs(RunQuery(limit=_NEWEST_RUNS, project=project))
        similar = closest(run, (row.workflow_id for row in page.rows))
        return None if similar is None else ("workflow_id", similar)
    if not isinstance(error, UnknownState):
        return None
    named = next((name for name in ("state", "source_state") if isinstance(arguments.get(name), str)), None)
    if named is None:
        return _states_meant(app, run, arguments.get("states_json"))
    similar = _state_like(_paths_of(app, run), str(arguments[named]))
    return None if similar is None else (named, similar)


def _states_meant(app: Application, run: str, text: Json) -> tuple[str, str] | None:
    """Return the list of states, as JSON text, with the paths that are most like those that there are not."""
    names = parse(text, name="states_json") if isinstance(text, str) else text
    if not isinstance(names, list) or len(names) > _MOST_NAMES:
        return None
    paths = _paths_of(app, run)
    meant = [_state_like(paths, str(name)) for name in names]
    return None if None in meant else ("states_json", dump(meant))


def _paths_of(app: Application, run: str) -> list[str]:
    """List the paths of the states that are open or of the workflow, in the branches of a Parallel as well."""
    machine = app.control_plane.run(run).definition.machine
    names = [name for name, _ in every_state(machine)]
    known = app.runs.paths_of(run, app.control_plane.run(run).definition, names)
    return list(dict.fromkeys([*known, *islice(_paths_in(machine), _MOST_PATHS)]))


def _paths_in(machine: Machine, scope: str = "") -> Iterator[str]:
    """Yield the paths of all states but those inside a Map, which has no iterations before it begins."""
    for name, state in machine.states.items():
        path = join(scope, name)
        yield path
        if isinstance(state, Parallel):
            for index, branch in enumerate(state.branches):
                yield from _paths_in(branch, open_scope(path, index))


def _state_like(paths: list[str], spoken: str) -> str | None:
    """Return the path that is, or whose name is, most like what was said."""
    if spoken in paths:
        return spoken
    by_name = {name_of(path).casefold(): path for path in reversed(paths)}
    by_likeness = by_name.get(spoken.rpartition("/")[2].casefold()) or closest(spoken, paths)
    return by_likeness or by_name.get((closest(spoken.rpartition("/")[2], by_name) or "").casefold())


def _after_refusal(spec: ToolSpec, code: str, named: Callable[[str], Json], agent_id: str | None) -> list[Call]:
    run = named("workflow_id")
    if code in _MENDED_BY and run is not None:
        tool, why = _MENDED_BY[code]
        more: Call = {"hold": False} if tool == "hold_run" else {"summary": True} if tool == _READ else {}
        steps = [Step(tool=tool, arguments={"workflow_id": run, **more}, why=why)]
        if code == "unknown_state" and agent_id is not None:
            steps.append(Step(tool=_MINE, arguments={"agent_id": agent_id, "workflow_id": run}, why=_WHY_MINE))
        return [step.as_json() for step in steps]
    if code == "invalid_definition":
        return [Step(tool=_LANGUAGE, arguments={}, why="It shows the workflow language, with examples.").as_json()]
    if code == "unknown_run" and agent_id is not None and "worker" in spec.profiles:
        return [Step(tool="get_my_assignment", arguments={"agent_id": agent_id}, why="It names your runs.").as_json()]
    if code == "unknown_run":
        return [Step(tool="list_runs", arguments={}, why="It names the runs that there are.").as_json()]
    is_worker = spec.scope is Scope.WORK or agent_id is not None
    return (calls_after_refusal(code, named, agent_id) or []) if is_worker else []


_READ: Final = "read_workflow_control_plane"
_MINE: Final = "get_my_assignment"
_WHY_MINE: Final = "It names your states."
_LANGUAGE: Final = "describe_workflow_language"
_MENDED_BY: Final[Mapping[str, tuple[str, str]]] = {
    "run_over": (_READ, "It shows how the run ended; `rerun` repeats it as a new one."),
    "run_live": ("cancel_run", "Only a run that is over is deleted."),
    "on_hold": ("hold_run", "An operator releases the hold, if the run may go."),
    "cannot_retry": ("rerun", "It repeats the run as a new one."),
    "cannot_rerun": (_READ, "It shows from which states the run can be repeated."),
    "conflict": (_READ, "It shows how the run stands now."),
    "invalid_transition": (_READ, "It shows which states are open, and what they wait for."),
    "unknown_state": (_READ, "meta.states has the names, states what is open."),
    "not_delivered": ("explain_run", "It says which agents got no notification, and how to correct it."),
}
"""By code: the tool that corrects it or shows the facts, and why."""


def _of_run(tool: str, why: str, **more: Json) -> After:
    """Return what follows a call about a run: one call about the same run."""

    def after(_: Arguments, answer: Any, __: str | None) -> list[Call]:
        if answer.workflow_id is None:
            return []
        return [Step(tool=tool, arguments={"workflow_id": answer.workflow_id, **more}, why=why).as_json()]

    return after


def _watched(_: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return the calls that show the progress of a run that was started or continued."""
    if agent_id is not None:
        return [
            wait_again(agent_id, why="Agents are notified automatically; an event comes when the run ends or is stuck.")
        ]
    return _of_run(_READ, "It shows the progress of the run.", summary=True)(_, answer, None)


def _begun(_: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return what starts a run that was created."""
    return _of_run("notify_next_worker_agent", "This starts the run: nothing moves before.")(_, answer, agent_id)


def _kept(checked: Any, _: Any, agent_id: str | None) -> list[Call]:
    """Return what follows a renewal: the result, when the work is done."""
    lease: Call = {"workflow_id": checked.workflow_id, "state": checked.state, "lease_token": checked.lease_token}
    return [to_complete(lease, agent_id).as_json()]


def _waiting(_: Arguments, __: Any, agent_id: str | None) -> list[Call]:
    return [] if agent_id is None else [wait_again(agent_id)]


def _completed(checked: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    return [] if answer.work else _waiting(checked, answer, agent_id)


def _looked_at(_: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return the next calls for a run that was read: find out why it does not move, close it, or continue."""
    meta = answer.meta or {}
    if meta.get("status") == RunStatus.RUNNING:
        return _of_run("explain_run", "If it does not move: why, and how to correct it.")(_, answer, None)
    if not meta:
        return []
    if meta.get("finalized_at"):
        return _wait_or_list(agent_id, meta.get("planner_agent_id"), "The run is closed: this brings what is next.")
    return _of_run("finalize_workflow", "The run has ended: this closes it.")(_, answer, None)


def _wait_or_list(agent_id: str | None, planner: str | None, why: str, **which: Json) -> list[Call]:
    """Return what brings an agent its next event; for a caller who may be the planner or not also the list of runs."""
    waiter = agent_id or planner
    waits = [] if waiter is None else [wait_again(waiter, why=why)]
    listed = Step(tool="list_runs", arguments=which, why="It shows how the runs stand.").as_json()
    return [*waits, listed] if agent_id is None else waits


def _described(_: Arguments, __: Any, agent_id: str | None) -> list[Call]:
    """Return what the language is read for: a run, or a schedule that starts runs."""
    more: Call = {} if agent_id is None else {"planner_agent_id": agent_id}
    written: Call = {"workflow_json": "<the workflow>", "agents_map_json": {"*": "<agent>"}, **more}
    again: Call = {"name": "<its name>", "cron": "<when>", **written}
    why = "It checks the workflow that you have written, and starts a run."
    return [
        Step(tool="start_run", arguments={**written, "input_json": "<its input>"}, why=why).as_json(),
        Step(tool="create_schedule", arguments=again, why="Or: it starts a run at each tick.").as_json(),
    ]


def _scheduled(_: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return what tells the planner how the runs of a schedule end."""
    schedule = answer.schedule
    why = "An event comes when a run of the schedule ends or is stuck."
    return _wait_or_list(agent_id, schedule.get("planner_agent_id"), why, tag=f"schedule:{schedule['name']}")


def _valid(_: Arguments, answer: Any, __: str | None) -> list[Call]:
    """Return what follows a validation that found nothing: the run."""
    if not answer.ok:
        return []
    arguments: Call = {"workflow_json": "<the same document>", "input_json": "<the input of the run>"}
    return [Step(tool="start_run", arguments=arguments, why="Creates the run and starts it.").as_json()]


def _closed(checked: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    if agent_id is not None:
        return _waiting(checked, answer, agent_id)
    return _of_run(_READ, "Its documents stay readable.", summary=True)(checked, answer, None)


def _to_be_judged(checked: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return what leads to the verdict on what has waited longest. It repeats the criteria unless the page is long."""
    if not answer.gates:
        return _waiting(checked, answer, agent_id)
    if agent_id is None:
        return []
    row = answer.gates[0]
    event = {**row, "gate": row["name"], "target_state": row["state"], "from": row["author"]}
    gates = [{name: value for name, value in gate.items() if name != "output"} for gate in answer.gates]
    if row.get("criteria") and len(dump(gates)) > _LONG_PAGE:
        event["criteria"] = ["<a criterion of the gate, as it stands; so for each>"]
    return [step.as_json() for step in to_judge(event, agent_id)]


def _to_be_answered(checked: Arguments, answer: Any, agent_id: str | None) -> list[Call]:
    """Return the answer to what has waited longest."""
    if not answer.tasks:
        return _waiting(checked, answer, agent_id)
    if agent_id is None:
        return []
    row = answer.tasks[0]
    if "question_id" in row:
        event = {**row, "from": row["asked_by"], "waits_until": row.get("deadline")}
        return [step.as_json() for step in to_answer(event, agent_id)]
    if "gate" in row:
        return []
    names = [choice if isinstance(choice, str) else choice["name"] for choice in row.get("choices", ())]
    question: Call = {name: row[name] for name in ("workflow_id", "state", "epoch")}
    question |= {"choice": f"<one of: {', '.join(names)}>", "agent_id": agent_id}
    return [Step(tool="answer_human_task", arguments=question, why="This answers what has waited longest.").as_json()]


AFTER: Final[Mapping[str, After]] = {
    "describe_workflow_language": _described,
    "create_schedule": _scheduled,
    "operate_schedule": _scheduled,
    "validate_workflow": _valid,
    "complete_states": _completed,
    _READ: _looked_at,
    "create_workflow_control_plane": _begun,
    "notify_next_worker_agent": _watched,
    "notify_if_ready": _watched,
    "renew_state_lease": _kept,
    "release_state_lease": _waiting,
    "start_run": _watched,
    "rerun": _watched,
    "retry_run": _watched,
    "resume_run": _watched,
    "resolve_state": _watched,
    "pause_run": _of_run("resume_run", "Continues the run."),
    "cancel_run": _of_run("finalize_workflow", "Writes the audit record and deletes the agents made for the run."),
    "finalize_workflow": _closed,
    "hold_run": _of_run("hold_run", "Releases it.", hold=False),
    "send_signal": _of_run(_READ, "It shows how the run continues.", summary=True),
    "answer_question": _watched,
    "answer_human_task": _of_run(_READ, "It shows how the run continues.", summary=True),
    "list_human_tasks": _to_be_answered,
    "list_gates": _to_be_judged,
    "decide_gate": _waiting,
}
"""By tool: what comes after a call that was carried out. Other tools say it themselves, or have nothing to follow."""
