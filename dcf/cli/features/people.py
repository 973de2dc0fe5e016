"""Shows what waits for people, and what `dcf approve`, `reject` and `answer` have done."""

from collections.abc import Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, Final

import typer
from rich.text import Text

from dcf.cli.asking import ask_if_read
from dcf.cli.commands.derived import OtherCall, call_verb
from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.reading.views import console, print_wrapped, say, table
from dcf.cli.text import clean, json_text
from dcf.cli.wording import as_command
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

_LONGEST: Final = 10_000
_VERDICTS: Final = {"approve": "pass", "reject": "fail"}
"""The verdict on an output that an answer means."""


def show_inbox(answer: Mapping[str, Json], call: Mapping[str, Any]) -> None:
    """Print what waits as a table, or one task whole with the commands that answer it."""
    rows = answer["tasks"]
    if call["state"] is not None:
        for row in rows:
            _print_task(row)
    elif rows:
        _print_tasks(rows)
        for row in rows:
            if "issue" in row:
                resolving = {"workflow_id": row["workflow_id"], "issue": row["issue"], "how": "<what was done>"}
                say(clean(as_command({"tool": "resolve_issue", "arguments": resolving}), _LONGEST))
    if not rows:
        is_filtered = any(call[name] for name in ("workflow_id", "person", "group"))
        typer.echo("Nothing waits for a person here." if is_filtered else "Nothing waits for a person.")
    say_more(answer)


def say_more(page: Mapping[str, Json]) -> None:
    """Say how to read the next page, if there is one."""
    if page["next_cursor"] is not None:
        say(f"There may be more: the same command with --cursor {quote(clean(page['next_cursor'], _LONGEST))}")


def shown_before(call: Mapping[str, Any]) -> Mapping[str, Any] | OtherCall:
    """Return the answer to a task with the visit that it is about: that named, or the one that is shown and asked for.

    If no task waits, the answer names no visit. If the output of the state waits at a gate, the answer is a verdict.
    """
    run, state = call["workflow_id"], call["state"]
    rows = call_verb("list_human_tasks", workflow_id=run, state=state)["tasks"]
    tasks = [row for row in rows if "question_id" not in row and "gate" not in row]
    gates = [row for row in rows if "gate" in row]
    if gates and not tasks:
        return _verdict(call, gates)
    if call["epoch"] is not None:
        return call
    ask_if_read(
        tasks,
        partial(_print_task, to_stderr=True),
        f"Answer this: {clean(call['choice'])}?",
        waits_at=state,
        otherwise=f"Read it with `dcf inbox {clean(run)} {clean(state)}`, and give its --epoch.",
    )
    return {**call, "epoch": tasks[0]["epoch"] if tasks else None}


def _verdict(call: Mapping[str, Any], gates: Sequence[Mapping[str, Json]]) -> OtherCall:
    """Show the output that waits at a gate, ask, and return the verdict that the answer means."""
    run, state, choice = call["workflow_id"], call["state"], str(call["choice"])
    verdict = _VERDICTS.get(choice)
    if verdict is None:
        raise InvalidArgument(f"An output is not answered with '{clean(choice)}'.", "Answer approve or reject.")
    ask_if_read(
        gates[:1],
        partial(_print_task, to_stderr=True),
        f"Answer this: {clean(choice)}?",
        waits_at=state,
        otherwise=f"Read it with `dcf inbox {clean(run)} {clean(state)}`, which prints the command that answers it.",
    )
    named = {name: call[name] for name in ("comment", "agent_id", "group", "request_id")}
    read = {name: gates[0][name] for name in ("gate", "content_sha256")}
    arguments = {"workflow_id": run, "state": state, "verdict": verdict, **read, **named}
    return OtherCall("decide_gate", arguments, "dcf.cli.features.gates:show_verdict")


def show_answer(answer: Mapping[str, Json], _: Mapping[str, Any]) -> None:
    """Print what was answered, by whom, and how the run is."""
    run, again = clean(answer["workflow_id"]), BEFORE if answer["repeated"] else ""
    typer.echo(
        f"{clean(answer['answered_by'])} answered {clean(answer['state'])} of {run}: {clean(answer['choice'])}{again}."
        f" The run is {clean(answer['run_status'])}; `dcf show {run}` shows it."
    )


def _print_tasks(rows: Sequence[Mapping[str, Json]]) -> None:
    columns = ("run", "state", "for", "since", "until", "title")
    console().print(table(columns, map(_cells, rows), whole=("since", "until")))


def _cells(row: Mapping[str, Json]) -> tuple[Json, ...]:
    more, state = row.get("question_id") or row.get("gate"), row.get("state") or row["issue"]
    named = state if more is None else f"{state} {more}"
    until = _minute(row.get("deadline"))
    return row["workflow_id"], named, _whom(row), _minute(row["since"]), until, row["title"]


def _print_task(row: Mapping[str, Json], *, to_stderr: bool = False) -> None:
    row = {**row, **_judged(row)} if "gate" in row else row
    out, run, state = console(stderr=to_stderr), clean(row["workflow_id"]), clean(row["state"])
    out.print(Text(clean(row["title"], _LONGEST), style="bold"), soft_wrap=True)
    until = f", until {_minute(row['deadline'])}" if row.get("deadline") else ""
    asker = f" ({clean(row['asked_by'])} asks)" if "question_id" in row else ""
    out.print(
        Text(f"{state} of {run} waits for {_whom(row)}{asker} since {_minute(row['since'])}{until}."), soft_wrap=True
    )
    for line in str(row.get("instructions", "")).splitlines():
        print_wrapped(out, Text(clean(line, _LONGEST)), indent=0)
    for name in ("output", "details", "schema", "default", "not_by"):
        if name in row:
            out.print(Text(f"{name}: {json_text(row[name], indent=2)}"), soft_wrap=True)
    if to_stderr:
        return
    if "gate" in row:
        for verdict in row["choices"]:
            line = verdict_command(run, state, row["gate"], verdict, row.get("content_sha256"))
            out.print(Text(f"  {line}"), soft_wrap=True)
        return
    if "question_id" in row:
        arguments = {"workflow_id": run, "question_id": row["question_id"], "agent_id": "<name>"}
        for named in row.get("choices") or ["<answer>"]:
            out.print(Text(f"  {_typed('answer_question', **arguments, answer=named)}"), soft_wrap=True)
        return
    for choice in row.get("choices", ()):
        named = choice if isinstance(choice, str) else choice["name"]
        call = {"workflow_id": run, "state": state, "choice": named}
        call |= {} if isinstance(choice, str) else {"comment": "<why>"}
        call |= {"answer_json": "<json>"} if "schema" in row else {}
        call |= {"agent_id": "<name>", "epoch": row["epoch"]}
        out.print(Text(f"  {_typed('answer_human_task', **call)}"), soft_wrap=True)


def _judged(row: Mapping[str, Json]) -> dict[str, Json]:
    """Return the output that waits at a gate, and what its worker was to do."""
    gates = call_verb("list_gates", workflow_id=row["workflow_id"], state=row["state"])["gates"]
    gate: Mapping[str, Json] = next((item for item in gates if item["content_sha256"] == row.get("content_sha256")), {})
    return {name: gate[name] for name in ("output", "instructions") if gate.get(name) is not None}


def _typed(verb: str, **arguments: Json) -> str:
    return clean(as_command({"tool": verb, "arguments": arguments}), _LONGEST)


def verdict_command(run: str, state: Json, gate: Json, verdict: Json, sha256: Json) -> str:
    """Return the command that gives this verdict about the output with this hash."""
    judged: dict[str, Json] = {"workflow_id": run, "state": state, "gate": gate, "verdict": verdict}
    return _typed("decide_gate", **judged, agent_id="<name>", content_sha256=sha256)


def _whom(row: Mapping[str, Json]) -> str:
    named = ", ".join(
        recipient if isinstance(recipient, str) else f"group {recipient['group']}" for recipient in row["to"]
    )
    return named or ("a person" if "gate" in row or "issue" in row else "the planner")


def _minute(text: Json) -> str:
    return "" if text is None else str(text)[:16].replace("T", " ")
