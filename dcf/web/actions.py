"""Carries out the actions of the page: asked for by a button, confirmed on a page of its own, done by a tool.

The confirmation has an id of its own, made with its page. With it an action is applied once, however often it is sent:
the tool recognises the id, or this module does for tools without ids. A rejected call is shown as rejected.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dcf.errors import Forbidden, InvalidArgument
from dcf.values.json_text import Json, dump, load, parse
from dcf.values.records import record
from dcf.verbs.envelope import Reply, call
from dcf.verbs.registry import TOOLS
from dcf.verbs.wording.languages import Labels
from dcf.verbs.wording.sentences import message_worded, worded
from dcf.web.action import Action, Given
from dcf.web.action_table import ACTIONS
from dcf.web.admission import SEE_OTHER, form_of, visit_of
from dcf.web.answers import error_page, page_of
from dcf.web.forms import WrongForm, new_request_id, own_path
from dcf.web.outcome import tell
from dcf.web.sessions import Sessions, is_secure
from dcf.web.templating import html, run_link
from dcf.web.visit import ActionOutcome, Visit

APPLY: Final = "apply"
_OWN: Final = frozenset({"_token", "_back", "_step", "_request"})
_REQUEST_ID: Final = re.compile(r"[0-9a-f]{32}")
_TICKED: Final = frozenset({"1", "on", "true", "True"})
_OF_NOBODY: Final = frozenset({"agent_id", "group"})
"""Arguments that only a caller with an unbound key may send."""
_ABOUT: Final[Mapping[str, str]] = {
    "workflow_id": "run",
    "state": "state",
    "from_state": "from state",
    "question_id": "question",
    "gate": "gate",
    "issue": "issue",
    "name": "schedule",
    "account": "account",
    "criteria": "criteria",
}
"""The subject of an action, argument by argument, in the words of the page; a reader needs no epochs and hashes."""
_MOST_PROBLEMS: Final = 3
_UNDER_WAY: Final = ActionOutcome(
    done=False,
    message="This was confirmed before, and may still be under way; it is not done a second time.",
    hint="The page shows how things stand.",
)


@record(frozen=True, slots=True, kw_only=True)
class ActionWish:
    """An action that somebody asks for, with the fields of its form."""

    visit: Visit
    tool: str
    action: Action
    form: Mapping[str, str]

    @property
    def back(self) -> str:
        """Where to return to."""
        return own_path(self.form.get("_back"))

    @property
    def given(self) -> tuple[Given, ...]:
        """The arguments that the caller may set."""
        bound = self.visit.caller.agent_id is not None
        return tuple(field for field in self.action.given if not (bound and field.name in _OF_NOBODY))


async def act(sessions: Sessions, request: Request) -> Response:
    """Show the page that asks to confirm an action, or carry out a confirmed one."""
    visit = visit_of(request)
    if not visit.may_act:
        return error_page("This page only shows.", "It is served without --allow-actions.", 403)
    tool = request.path_params["tool"]
    if tool not in ACTIONS:
        return error_page("There is no such action.", "Use the buttons of the page.", 404)
    if not visit.may(tool):
        await _note_refusal(visit, tool)
        return error_page("Your key may not do that.", f"{tool} needs scopes that it does not have.", 403)
    wish = ActionWish(visit=visit, tool=tool, action=ACTIONS[tool], form=form_of(request))
    _check_names(wish)
    if wish.form.get("_step") != APPLY:
        return await _confirmation(sessions, wish)
    return await _carried_out(sessions, request, wish)


async def _note_refusal(visit: Visit, tool: str) -> None:
    forbidden = Forbidden(f"{tool} is not among what this key may do on the page.")
    note = visit.application.refusals.refused(visit.caller, tool, forbidden, {})
    if note is not None:
        await anyio.to_thread.run_sync(note)


def _check_names(wish: ActionWish) -> None:
    """Raise WrongForm for a field that is not in the row of this action."""
    known = {field.name for field in wish.given} | _OWN
    if not known.issuperset(wish.form):
        raise WrongForm(400, "The form has a field that this action does not take.", "Use the buttons of the page.")


async def _confirmation(
    sessions: Sessions, wish: ActionWish, values: Mapping[str, Json] | None = None, wrong: str | None = None
) -> Response:
    """Return the page that asks; with what was wrong, and what was filled in before."""
    shown_values = values if values is not None else arguments_of(wish)
    fields = [field for field in wish.given if field.label is not None]
    hidden = [
        (field.name, shown_values[field.name])
        for field in wish.given
        if field.label is None and field.name in shown_values
    ]

    def make() -> str:
        return html(
            "confirm.html",
            title=wish.action.title,
            tool=wish.tool,
            action=wish.action,
            wrong=wrong,
            back=wish.back,
            request_id=new_request_id(),
            hidden=hidden,
            about=[(_ABOUT[name], value) for name, value in hidden if name in _ABOUT],
            fields=[{"given": field, "value": shown_values.get(field.name, "")} for field in fields],
        )

    return await page_of(sessions, wish.visit, make, 200 if wrong is None else 400)


def arguments_of(wish: ActionWish) -> dict[str, Json]:
    """Return the arguments that a form gives. Raise WrongForm for a number that is none."""
    is_confirmed, arguments_read = wish.form.get("_step") == APPLY, dict[str, Json]()
    for field in wish.given:
        text = wish.form.get(field.name)
        if field.kind == "flag":
            unsaid = False if is_confirmed else field.ticked  # a box that is not ticked is not sent
            arguments_read[field.name] = unsaid if text is None else text in _TICKED
        elif text and text.strip():
            arguments_read[field.name] = _number(text) if field.kind == "number" else text.replace("\r\n", "\n")
    return arguments_read


def _list(text: str) -> Json:
    try:
        return parse(text, name="the form")
    except InvalidArgument:
        raise WrongForm(400, "A field that must be JSON is none.", "Use the buttons of the page.") from None


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(2**53)):
        raise WrongForm(400, "A field that must be a whole number is none.", "Use the buttons of the page.")
    return int(text)


async def _carried_out(sessions: Sessions, request: Request, wish: ActionWish) -> Response:
    arguments = arguments_of(wish)
    missing = [field for field in wish.given if field.needed and field.name not in arguments]
    if missing:
        wrong = f"'{missing[0].label or missing[0].name}' is missing."
        return await _confirmation(sessions, wish, arguments, wrong)
    outcome, payload = await _applied(sessions, wish, _request_id(wish), arguments)
    if payload.get("code") == "invalid_argument" or (not outcome.done and payload.get("problems")):
        return await _confirmation(sessions, wish, arguments, f"{outcome.message} {outcome.hint}")
    response = RedirectResponse(_further(wish, outcome, payload), SEE_OTHER)
    tell(response, outcome, wish.visit.form_token, secure=is_secure(request))
    return response


def _request_id(wish: ActionWish) -> str:
    request_id = wish.form.get("_request", "")
    if not _REQUEST_ID.fullmatch(request_id):
        raise WrongForm(400, "The form does not say which confirmation it is.", "Use the buttons of the page.")
    return request_id


async def _applied(
    sessions: Sessions, wish: ActionWish, request_id: str, arguments: Mapping[str, Json]
) -> tuple[ActionOutcome, Mapping[str, Json]]:
    """Call the tool, or find that this confirmation was carried out before; return also what the tool answered."""
    visit = wish.visit
    known = {"request_id": request_id} if wish.action.is_repeatable else {}
    lists = {
        field.name: _list(arguments[field.name])
        for field in wish.given
        if field.kind == "list" and field.name in arguments
    }
    called = {**arguments, **lists, **wish.action.always, **known}

    async def calling() -> Reply:
        return await call(TOOLS[wish.tool], visit.application, called, visit.caller, sessions.meter)

    if wish.action.is_repeatable:
        reply = await calling()
        return _outcome(wish, reply), reply.payload
    clicks, click = visit.application.web_sessions, f"{visit.caller.name} {wish.tool} {request_id}"
    before = await anyio.to_thread.run_sync(clicks.clicked_before, click)
    if before is not None:
        return _remembered(before), {}
    reply = await calling()
    outcome = _outcome(wish, reply)
    text_of_outcome = dump([outcome.done, outcome.message, outcome.hint])
    await anyio.to_thread.run_sync(clicks.remember, click, text_of_outcome)
    return outcome, reply.payload


def _remembered(before: str) -> ActionOutcome:
    if not before:
        return _UNDER_WAY
    done, message, hint = load(before)
    return ActionOutcome(done=done, message=message, hint=hint)


def _outcome(wish: ActionWish, reply: Reply) -> ActionOutcome:
    payload: Mapping[str, Any] = reply.payload
    title = wish.action.title
    if reply.broken or payload["code"] != "ok":
        sentence = message_worded(str(payload["error"]).removeprefix(f"{payload['code']}: "), Labels(), wish.tool)
        problems = [str(problem.get("message", "")) for problem in payload.get("problems") or ()][:_MOST_PROBLEMS]
        hint = worded(str(payload.get("hint") or ""), Labels(), wish.tool, wish.form)
        return ActionOutcome(done=False, message=f"{title}: {sentence}", hint=" ".join((*problems, hint)))
    sentence = worded(str(payload.get("status") or "done"), Labels(), wish.tool, wish.form).replace("_", " ")
    before = " (it was done before; nothing was done twice)" if payload.get("repeated") else ""
    return ActionOutcome(done=True, message=f"{title}: {sentence}{before}")


def _further(wish: ActionWish, outcome: ActionOutcome, payload: Mapping[str, Any]) -> str:
    """Return the page to go to: that of what was made, where there is one."""
    if outcome.done and wish.action.then == "run" and payload.get("workflow_id"):
        return run_link(str(payload["workflow_id"]))
    return "/ui/runs" if outcome.done and wish.action.then == "runs" else wish.back
