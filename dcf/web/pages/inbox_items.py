"""The items that wait for people, as one type: a human task, the question of a worker, or a verdict on an output.

Pure: it says what is shown of each, which form answers it, and what a form that was filled in means as arguments.
"""

from collections.abc import Mapping
from typing import Any, Final

from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.wording.languages import command_line
from dcf.web.durations import age, between, span
from dcf.web.form_fields import Filled, FormField, form_of, read_form

ANSWER: Final = "answer_json"
CRITERIA: Final = "criteria"
_VERDICTS: Final = ("pass", "fail", "unavailable")


@record(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """One thing that waits. `tool` answers it, with `known` and what a person chooses and writes.

    `chosen` is the argument that the choices are of. `schema` is that of the field `form_name`, which the form asks for
    besides; None if it asks for nothing more.
    """

    kind: str
    run: str
    state: str
    title: str
    tool: str
    known: Mapping[str, Json]
    chosen: str
    choices: tuple[str, ...] = ()
    commented: frozenset[str] = frozenset()
    schema: Json = None
    form_name: str = ANSWER
    command: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    instructions: str = ""
    documents: Mapping[str, Json]

    def form(self, filled: Filled | None, key: str) -> FormField | None:
        """Return the form for what is asked besides the choice."""
        label = "Answer" if self.form_name == ANSWER else "Criteria"
        return None if self.schema is None else form_of(self.schema, self.form_name, label, filled, key)

    def read(self, filled: Filled) -> tuple[dict[str, Json], dict[str, str]]:
        """Return the arguments that a form means, and what is wrong by the name of its field."""
        choice, comment = filled.get(self.chosen, ""), filled.get("comment", "").strip()
        answer: dict[str, Json] = {self.chosen: choice, "comment": comment}
        answer |= {name: filled.get(name, "").strip() for name in ("agent_id", "group")}
        problems: dict[str, str] = {}
        if not choice or (self.choices and choice not in self.choices):
            problems[self.chosen] = "Choose one." if self.choices else "This is needed."
        if choice in self.commented and not comment:
            problems["comment"] = f"To {choice}, say why."
        if self.schema is not None and not (choice == "reject" and self._is_blank(filled)):
            value, wrong = read_form(self.schema, self.form_name, filled)
            problems |= wrong
            answer[self.form_name] = value if self.form_name == ANSWER else _verdicts(value, self.schema)
        return {name: value for name, value in answer.items() if value not in (None, "")}, problems

    def _is_blank(self, filled: Filled) -> bool:
        return not any(text.strip() for name, text in filled.items() if name.startswith(self.form_name))


def of_task(row: Mapping[str, Json], now: str) -> InboxItem:
    """Return an item of `list_human_tasks`."""
    named = [name if isinstance(name, dict) else {"name": name} for name in row.get("choices", ())]
    shared: dict[str, Any] = {
        "run": row["workflow_id"],
        "state": row.get("state") or "",
        "title": row["title"],
        "choices": tuple(choice["name"] for choice in named),
        "commented": frozenset(choice["name"] for choice in named if choice.get("comment") == "required"),
        "facts": _facts(row, now),
        "instructions": row.get("instructions", ""),
        "documents": {"details": row["details"]} if "details" in row else {},
    }
    run, state = str(row["workflow_id"]), str(row.get("state"))
    if "issue" in row:
        known: dict[str, Json] = {"workflow_id": run, "issue": str(row["issue"])}
        line = command_line("resolve_issue", **known, how="<what was done>")
        return InboxItem(kind="issue", tool="resolve_issue", known=known, chosen="how", command=line, **shared)
    if "question_id" in row:
        question = str(row["question_id"])
        known = {"workflow_id": run, "question_id": question}
        line = command_line("answer_question", **known, answer="<answer>")
        return InboxItem(kind="question", tool="answer_question", known=known, chosen="answer", command=line, **shared)
    if "gate" in row:
        return _gate(row, shared)
    known = {"workflow_id": run, "state": state, "epoch": row["epoch"]}
    choice = "approve" if "approve" in shared["choices"] else "<choice>"
    line = command_line("answer_human_task", **known, choice=choice, agent_id="<name>")
    schema = row.get("schema")
    return InboxItem(
        kind="task", tool="answer_human_task", known=known, chosen="choice", schema=schema, command=line, **shared
    )


def of_gate(row: Mapping[str, Json], now: str) -> InboxItem:
    """Return an item of `list_gates`."""
    shown = {**row, "gate": row["name"], "asked_by": row["author"], "to": [row["asked"]]}
    shared: dict[str, Any] = {
        "run": row["workflow_id"],
        "state": row["state"],
        "title": f"Judge the output of '{row['state']}' (gate '{row['name']}')",
        "facts": (*_facts(shown, now), ("attempt", str(row.get("attempt", 1)))),
        "instructions": row.get("instructions", "") or "",
        "documents": {name: row[name] for name in ("output", "command") if name in row},
        "schema": _asking(row.get("criteria", ())),
    }
    return _gate(shown, shared)


def _gate(row: Mapping[str, Json], shared: dict[str, Any]) -> InboxItem:
    run, state, gate = str(row["workflow_id"]), str(row["state"]), str(row["gate"])
    known = {"workflow_id": run, "state": state, "gate": gate, "content_sha256": row["content_sha256"]}
    shared["choices"] = _VERDICTS
    return InboxItem(
        kind="verdict",
        tool="decide_gate",
        known=known,
        chosen="verdict",
        command=command_line("decide_gate", **known, verdict="pass"),
        form_name=CRITERIA,
        **shared,
    )


def _asking(criteria: Json) -> Json:
    """Return the schema of the verdicts on criteria, each of which is a group of the form; None without any."""
    if not criteria:
        return None
    properties = {
        "passed": {"type": "boolean", "title": "Does it hold?"},
        "feedback": {"type": "string", "title": "Feedback"},
    }
    groups = {
        f"criterion {number}": {"type": "object", "title": text, "required": ["passed"], "properties": properties}
        for number, text in enumerate(criteria, 1)
    }
    return {"type": "object", "required": list(groups), "properties": groups}


def _verdicts(value: Json, schema: Json) -> Json:
    """Return the verdicts on criteria as decide_gate takes them."""
    if not isinstance(value, dict):
        return []
    return [{"criterion": schema["properties"][name]["title"], **verdict} for name, verdict in value.items()]


def _facts(row: Mapping[str, Json], now: str) -> tuple[tuple[str, str], ...]:
    left = between(now, row.get("deadline"))
    until = "" if left is None else f"in {span(left)}" if left > 0 else "its deadline has passed"
    texts = [
        f"group {recipient['group']}" if isinstance(recipient, dict) else str(recipient)
        for recipient in row.get("to", ())
    ]
    facts = (
        ("asked", ", ".join(texts) or "anybody"),
        ("by", str(row.get("asked_by") or "")),
        ("waits for", age(row.get("since"), now)),
        ("ends", until),
        ("then", str(row.get("default") or "")),
    )
    return tuple((name, value) for name, value in facts if value)
