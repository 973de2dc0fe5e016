"""Runs one tool call: authorizes the caller, validates the arguments, runs the function, turns failures into answers.

No exception leaves this module, and no library's text gets into an answer. Authorization happens here, the same way
for all tools, from what each tool declared. A tool itself checks only what depends on its arguments.
"""

import inspect
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial

import anyio
import anyio.to_thread
from pydantic import BaseModel

from dcf import metrics
from dcf.application.application import Application
from dcf.core.access.model import Caller
from dcf.errors import (
    DcfError,
    Forbidden,
    InternalError,
    InvalidDefinition,
    NotFound,
    PlatformUnavailable,
    RateLimited,
    TooLarge,
)
from dcf.store.access.authors import authored_by
from dcf.telemetry import surroundings
from dcf.values.json_text import Json, dump
from dcf.values.names import escaped
from dcf.values.records import record
from dcf.verbs.answers.guidance import guide_failure, guided
from dcf.verbs.answers.legal_calls import with_a_call
from dcf.verbs.answers.planner_steps import describe_language
from dcf.verbs.argument_checks import check_arguments, check_at_once
from dcf.verbs.callers import calling, current_caller, scope_hint
from dcf.verbs.key_watch import KeyWatch
from dcf.verbs.limits import Meter
from dcf.verbs.project_bounds import in_own_project, refuse_other_projects
from dcf.verbs.registry import Answer, Arguments, ToolSpec, printable

log = logging.getLogger(__name__)

_LONGEST_ECHO = 80
_LONGEST_SUBJECT = 300
_PROBLEMS_SHOWN = 50
_LONGEST_PATH = 10_000


@record(frozen=True, kw_only=True)
class Reply:
    """The answer to the caller. `broken` means that the call was invalid or could not be carried out."""

    payload: Mapping[str, Json]
    broken: bool = False

    @cached_property
    def text(self) -> str:
        """The payload as compact JSON text."""
        return dump(dict(self.payload))


async def call(
    spec: ToolSpec,
    application: Application,
    arguments: Mapping[str, Json],
    caller: Caller,
    meter: Meter,
    watch: KeyWatch | None = None,
) -> Reply:
    """Run the tool for this caller; a synchronous tool runs on a worker thread.

    With a `watch`, a tool that waits is broken off when the caller's key is revoked.
    """
    sent = spec.in_present_names(arguments)
    if surroundings.is_watched:
        with surroundings.call(sent):
            return await _counted(spec, application, sent, caller, meter, watch)
    return await _counted(spec, application, sent, caller, meter, watch)


async def _counted(
    spec: ToolSpec,
    application: Application,
    arguments: Mapping[str, Json],
    caller: Caller,
    meter: Meter,
    watch: KeyWatch | None,
) -> Reply:
    counted = metrics.current
    if counted is None:
        return await _called(spec, application, arguments, caller, meter, watch)
    began = time.monotonic()
    try:
        return await _called(spec, application, arguments, caller, meter, watch)
    finally:
        counted.called(spec.name, time.monotonic() - began)


async def _called(
    spec: ToolSpec,
    application: Application,
    arguments: Mapping[str, Json],
    caller: Caller,
    meter: Meter,
    watch: KeyWatch | None,
) -> Reply:
    try:
        with meter.turn(caller) as threads:
            _authorize(spec, caller)
            checked = _admitted(spec, application, await check_arguments(spec, arguments, threads), caller)
            with calling(caller), authored_by(caller.name, caller.account):
                if watch is not None and waits(spec):
                    answer = await watch.during(caller, partial(_run, spec, application, checked, threads))
                else:
                    answer = await _run(spec, application, checked, threads)
        answer = guided(spec, checked, caller, answer)
        return _within(spec, application, Reply(payload=answer.payload()))
    except Exception as error:  # noqa: BLE001 - every failure becomes an answer
        note = _refusal_note(spec, application, error, arguments, caller)
        if note is not None:
            await anyio.to_thread.run_sync(note)
        if isinstance(error, NotFound):  # what was meant is looked up
            return await anyio.to_thread.run_sync(_broken, spec, application, error, arguments, caller)
        return _broken(spec, application, error, arguments, caller)


def call_here(spec: ToolSpec, application: Application, arguments: Mapping[str, Json], caller: Caller) -> Reply:
    """Run a tool that does not wait, in this thread, for a caller without limits; answers as `call` does."""
    sent = spec.in_present_names(arguments)
    try:
        _authorize(spec, caller)
        checked = _admitted(spec, application, check_at_once(spec, sent), caller)
        with calling(caller), authored_by(caller.name, caller.account):
            answer = guided(spec, checked, caller, _run_at_once(spec, application, checked))
        return _within(spec, application, Reply(payload=answer.payload()))
    except Exception as error:  # noqa: BLE001 - every failure becomes an answer
        note = _refusal_note(spec, application, error, sent, caller)
        if note is not None:
            note()
        return _broken(spec, application, error, sent, caller)


def waits(spec: ToolSpec) -> bool:
    """Return True for a tool that waits, and so needs an event loop."""
    return inspect.iscoroutinefunction(spec.run)


def _broken(
    spec: ToolSpec, application: Application, error: Exception, arguments: Mapping[str, Json], caller: Caller
) -> Reply:
    """Return the answer to a call that failed; a bug in dcf is logged, and shows no internals to the caller."""
    if not isinstance(error, DcfError):
        log.error("tool %s failed", spec.name, exc_info=error)
        error = InternalError()
    payload = _failure(spec, error, arguments)
    with suppress(DcfError):  # what was meant is looked up, and that may fail as well
        meant, following = guide_failure(spec, application, error, arguments, caller)
        payload |= {"hint": f"{meant} {payload['hint']}"} if meant else {}
        payload |= {"next": following} if following else {}
    return Reply(payload=payload, broken=True)


def _refusal_note(
    spec: ToolSpec, application: Application, error: Exception, arguments: Mapping[str, Json], caller: Caller
) -> Callable[[], None] | None:
    """Return what records in the audit trail that a call was refused, and which run and agent it named."""
    if not isinstance(error, Forbidden | NotFound):
        return None
    about = {name: arguments.get(name) for name in ("workflow_id", spec.acts_as or "agent_id")}
    named = {name: value for name, value in about.items() if isinstance(value, str)}
    return application.refusals.refused(caller, spec.name, error, named)


def _admitted(spec: ToolSpec, application: Application, checked: Arguments, caller: Caller) -> Arguments:
    """Return the arguments as the caller may use them, and note for health reports that the agent works."""
    speaking = in_own_project(spec, caller, _speaking(spec, caller, checked))
    _note_work(spec, application, speaking, caller)
    return speaking


async def _run(
    spec: ToolSpec, application: Application, checked: Arguments, threads: anyio.CapacityLimiter | None
) -> Answer:
    if not waits(spec):
        return await anyio.to_thread.run_sync(_run_at_once, spec, application, checked, limiter=threads)
    if current_caller().project is not None:
        check = partial(refuse_other_projects, spec, application, current_caller(), checked)
        await anyio.to_thread.run_sync(check, limiter=threads)
    answer = await spec.run(application, checked)  # type: ignore[misc]  # a coroutine function, as `waits` found
    assert isinstance(answer, Answer), "every tool returns its answer model"
    return answer


def _run_at_once(spec: ToolSpec, application: Application, checked: Arguments) -> Answer:
    refuse_other_projects(spec, application, current_caller(), checked)
    answer = _run_recorded(spec, application, checked) if spec.audit else spec.run(application, checked)
    assert isinstance(answer, Answer), "every tool returns its answer model"
    return answer


def _run_recorded(spec: ToolSpec, application: Application, checked: Arguments) -> Answer:
    """Run a tool that changes something outside runs, and record the change in the audit trail."""
    with application.audit.recording(spec.name, _about(spec, checked)) as recording:
        answer = spec.run(application, checked)
        assert isinstance(answer, Answer), "a tool that is recorded is not awaited"
        recording.outcome = answer.code
        recording.about |= _about(spec, answer)
    return answer


def _about(spec: ToolSpec, source: Arguments | Answer) -> dict[str, str]:
    """Return the fields of arguments or an answer that name what was changed; a whole document is no name."""
    named = ((name, getattr(source, name, None)) for name in spec.audit)
    fields = {name: value for name, value in named if not isinstance(value, Mapping | BaseModel)}
    return {name: printable(str(value)[:_LONGEST_SUBJECT]) for name, value in fields.items() if value}


def _authorize(spec: ToolSpec, caller: Caller) -> None:
    """Raise Forbidden, before anything is read, for a caller without the tool's scope."""
    if spec.scope not in caller.scopes:
        raise Forbidden(f"`{spec.name}` needs the scope '{spec.scope}'.", scope_hint(spec.scope))


def _speaking(spec: ToolSpec, caller: Caller, checked: Arguments) -> Arguments:
    """Fill in the agent id of a key bound to an agent; raise Forbidden when the arguments name another agent."""
    if caller.agent_id is None or spec.acts_as is None:
        return checked
    speaker = getattr(checked, spec.acts_as)
    if speaker == caller.agent_id:
        return checked
    if speaker is not None:
        raise Forbidden(
            f"This key is bound to agent '{caller.agent_id}' and may not act as another.",
            f"Pass {spec.acts_as} '{caller.agent_id}', or use the key of the agent that you mean.",
        )
    return checked.model_copy(update={spec.acts_as: caller.agent_id})


def _note_work(spec: ToolSpec, application: Application, checked: Arguments, caller: Caller) -> None:
    """Note for health reports that the calling agent works; nothing is sent."""
    agent_id = caller.agent_id if spec.acts_as is None else getattr(checked, spec.acts_as)
    if agent_id is not None:
        application.activity.saw(agent_id)


def _within(spec: ToolSpec, application: Application, reply: Reply) -> Reply:
    """Raise TooLarge for an answer beyond the limit, but only for read-only tools, which can be called again."""
    limit = application.settings.max_result_bytes
    if spec.read_only and len(reply.text.encode()) > limit:
        raise TooLarge(f"The answer is larger than {limit} bytes.", "Ask for less: fewer states, or a smaller limit.")
    return reply


def _failure(spec: ToolSpec, error: DcfError, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the tool's own answer with only the error, its problems, and the ids that the caller sent."""
    message, hint = printable(f"{error.code}: {error.message}"), printable(with_a_call(spec, error))
    wait = error.retry_after_s if isinstance(error, PlatformUnavailable | RateLimited) else None
    answer = spec.answer(error=message, code=error.code, hint=hint, retry_after_s=wait, **_echo(spec, arguments))
    payload = answer.payload()
    if isinstance(error, InvalidDefinition):
        payload["next"] = [describe_language().as_json()]
        payload["problems"] = [
            {
                "path": escaped(problem.path, _LONGEST_PATH),
                "code": problem.code,
                "message": problem.message,
                "hint": problem.hint,
            }
            for problem in error.problems[:_PROBLEMS_SHOWN]
        ]
    return payload


def _echo(spec: ToolSpec, arguments: Mapping[str, Json]) -> dict[str, Json]:
    sent = {name: arguments.get(name) for name in ("workflow_id", "state") if name in spec.answer.model_fields}
    return {
        name: value
        for name, value in sent.items()
        if isinstance(value, str) and len(value) <= _LONGEST_ECHO and value.isprintable()
    }
