"""The catalogue's pages: kept workflows and skills, a document with its problems marked, the form that starts it."""

import json
import re
import secrets
from html import unescape
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import InvalidArgument
from dcf.web.pages.workflows import check_start, workflow_page, workflows_page
from dcf.web.site import build_site
from dcf.web.source_lines import MOST_LINES, lines_of, lines_of_text, marked, worth_showing
from dcf.web.visit import ToolRefused, Visit
from tests.web.browsing import HOSTILE, Browser, check_harmless, text_of

pytestmark = pytest.mark.anyio

TASK = {"Type": "Task", "End": True}
INPUT = {
    "type": "object",
    "required": ["order"],
    "properties": {"order": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}},
}


@pytest.fixture
def browser(application: Application) -> Browser:
    return Browser(build_site(application))


def acting(application: Application, **more: Any) -> Visit:
    caller = Caller(name="key:0123456789ab", scopes=frozenset(Scope), **more)
    return Visit(application=application, caller=caller, may_act=True)


def kept(application: Application, version: str = "1.0.0", name: str | None = None, **more: Any) -> tuple[str, str]:
    """The name of a workflow that was started, and the run."""
    name = name or f"w-{secrets.token_hex(4)}"
    document = {"workflow_name": name, "version": version, "asl": {"StartAt": "A", "States": {"A": TASK}}, **more}
    answer = acting(application).ask("start_run", workflow_json=document)
    assert answer["code"] == "ok", answer
    return name, answer["workflow_id"]


def fields_of(page: str) -> dict[str, str]:
    findall = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in findall if not name.startswith("_")}


async def test_a_started_workflow_is_in_the_catalogue_and_found_by_its_words(
    application: Application, browser: Browser
) -> None:
    name, _ = kept(application)
    other, _ = kept(application)
    assert f'<a href="/ui/workflows/{name}">{name}</a>' in await browser.get("/ui/workflows")
    result = await browser.get(f"/ui/workflows?text={name}")
    assert name in result
    assert other not in text_of(result)
    assert "No workflow has these words" in text_of(await browser.get("/ui/workflows?text=nowherefound"))


async def test_a_workflow_is_shown_with_its_picture_its_document_and_its_runs(
    application: Application, browser: Browser
) -> None:
    name, run = kept(application)
    page = await browser.get(f"/ui/workflows/{name}")
    assert 'data-state="A"' in page
    assert '"StartAt": "A",' in text_of(page)
    assert "✔ It is valid." in page
    assert f'href="/ui/runs/{run}"' in page
    assert f'href="/ui/runs?workflow={name}"' in page


async def test_each_version_has_its_own_page(application: Application, browser: Browser) -> None:
    name, _ = kept(application, "1.0.0")
    kept(application, "2.0.0", name)
    newest = await browser.get(f"/ui/workflows/{name}")
    links = re.findall(r'<a href="([^"]+)"( aria-current="page")?>([0-9.]+)</a>', newest)
    assert {(version, bool(current)) for _, current, version in links} == {("1.0.0", False), ("2.0.0", True)}
    assert '"version": "1.0.0"' in text_of(await browser.get(f"/ui/workflows/{name}?version=1.0.0"))
    assert (await browser.ask("GET", f"/ui/workflows/{name}?version=9")).status_code == 400
    assert (await browser.ask("GET", "/ui/workflows/none")).status_code == 400


async def test_skills_are_listed_and_shown(browser: Browser) -> None:
    page = await browser.get("/ui/workflows?kind=skill")
    assert "calculate.pricing" in text_of(page)
    link = re.search(r'href="(/ui/workflows/calculate.pricing[^"]+)"', page)
    assert link is not None
    skill = text_of(await browser.get(unescape(link[1])))
    assert '"skillName": "calculate.pricing"' in skill
    assert "✔ It is valid." in skill
    assert (await browser.ask("GET", "/ui/workflows?kind=nonsense")).status_code == 400


async def test_a_kind_without_definitions_says_how_to_keep_one(browser: Browser) -> None:
    assert "dcf catalogue add persona NAME FILE" in text_of(await browser.get("/ui/workflows?kind=persona"))


async def test_a_text_is_shown_line_by_line(application: Application, browser: Browser) -> None:
    name = f"rule-{secrets.token_hex(4)}"
    acting(application).ask("put_definition", kind="rule", name=name, content="# Rule\nRead it twice.")
    page = await browser.get(f"/ui/workflows/{name}?kind=rule")
    assert '<li value="2" id="L2"><code>Read it twice.</code>' in page
    assert "<svg" not in page


async def test_a_pasted_document_is_validated_and_what_is_wrong_stands_at_its_line(browser: Browser) -> None:
    wrong = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "C"}, "B": {"Type": "Tsk"}}}}
    page = (await browser.post("/ui/validate", {"workflow_json": json.dumps(wrong)})).text
    assert "It is not valid" in text_of(page)
    lines = re.findall(
        r'<li value="(\d+)" id="[^"]+" class="wrong"><code>([^<]+)</code>\s*(<p.+?)</li>', page, re.DOTALL
    )
    texts = {unescape(source).strip(): text for _, source, text in lines}
    assert "no state" in texts['"Next": "C"']
    assert "Tsk" in texts['"Type": "Tsk"']
    assert "cannot be reached" in texts['"B": {']
    right = {"asl": {"StartAt": "A", "States": {"A": TASK}}}
    page = (await browser.post("/ui/validate", {"workflow_json": json.dumps(right)})).text
    assert "✔ It is valid." in page
    assert 'data-state="A"' in page


async def test_what_is_no_json_is_marked_where_it_ends_to_be(browser: Browser) -> None:
    page = (await browser.post("/ui/validate", {"workflow_json": '{"asl":\n  [1,}\n}'})).text
    assert re.search(r'<li value="2" id="L2" class="wrong"><code>  \[1,}</code>\s*<p[^>]+>✘ The document', page)
    assert (await browser.post("/ui/validate", {"workflow_json": " "})).status_code == 400
    assert (
        await browser.post("/ui/validate", {"workflow_json": "{}"}, origin="http://evil.example")
    ).status_code == 403


def test_the_lines_of_a_document_are_those_of_its_json_text() -> None:
    document = {"a": [1, {"b/c": None}, []], "d": {}, "e": "x"}
    lines = lines_of(document)
    assert "\n".join(line.text for line in lines) == json.dumps(document, indent=2)
    assert [line.path for line in lines] == [
        "",
        "/a",
        "/a/0",
        "/a/1",
        "/a/1/b~1c",
        None,
        "/a/2",
        None,
        "/d",
        "/e",
        None,
    ]


def test_many_values_below_a_long_name_cost_no_more_than_others() -> None:
    """Each of their paths has the whole name: a document of a megabyte would need a hundred gigabytes."""
    lines = lines_of({"x" * 5_000: list(range(1_000)), "y": 1})
    assert sum(len(line.path or "") for line in lines) < 100
    path = f"/{'x' * 5_000}/7"
    source_lines = marked(lines, [{"path": path, "message": "m", "hint": "h"}])
    assert [line.number for line in source_lines if line.problems] == [1]


def test_a_problem_below_a_name_with_hidden_characters_is_at_its_line() -> None:
    lines = marked(lines_of({"a": 1, "b\u202e": {"c": 2}}), [{"path": "/b\\u202e/c", "message": "m", "hint": "h"}])
    assert [line.number for line in lines if line.problems] == [4]


def test_a_problem_about_what_is_not_there_stands_at_what_is_around_it() -> None:
    problem = {"path": "/a/missing/0", "message": "m", "hint": "h"}
    source_lines = marked(lines_of({"a": {"b": 1}}), [problem])
    assert [line.number for line in source_lines if line.problems] == [2]
    assert marked(lines_of_text("x"), [problem])[0].problems == (problem,)


def test_of_a_long_document_the_beginning_and_its_problems_are_shown() -> None:
    lines = marked(lines_of(list(range(3 * MOST_LINES))), [{"path": f"/{2 * MOST_LINES}", "message": "", "hint": ""}])
    shown = worth_showing(lines)
    assert len(shown) == MOST_LINES + 7
    assert sum(1 for line in shown if line.problems) == 1


def test_a_run_is_started_from_a_form_made_of_the_inputs_schema(application: Application) -> None:
    visit, (name, _) = acting(application), kept(application, workflow_input_schema=INPUT)
    page = workflow_page(visit, {}, name)
    assert 'action="/ui/validate/start"' in page
    filled = fields_of(page)
    wrong = check_start(visit, filled)
    assert "✘ This is needed." in wrong
    checked = check_start(visit, filled | {"input_json/order/id": "o-7", "workflow_id": f"{name}-run"})
    assert 'action="/ui/act/start_run"' in checked
    sent = fields_of(checked)
    assert sent == {"definition": f"{name}@1.0.0", "input_json": '{"order":{"id":"o-7"}}', "workflow_id": f"{name}-run"}
    assert visit.ask("start_run", **sent)["run_status"] == "running"
    assert visit.ask("read_workflow_control_plane", workflow_id=f"{name}-run")["meta"]["workflow_name"] == name


def test_without_a_schema_the_input_is_json_text(application: Application) -> None:
    visit, (name, _) = acting(application), kept(application)
    filled = fields_of(workflow_page(visit, {}, name))
    assert fields_of(check_start(visit, filled))["input_json"] == "{}"
    assert fields_of(check_start(visit, filled | {"input_json": "[1]"}))["input_json"] == "[1]"
    assert "JSON" in check_start(visit, filled | {"input_json": "[1"})


async def test_who_may_not_start_is_told_the_command(application: Application, browser: Browser) -> None:
    name, _ = kept(application)
    page = await browser.get(f"/ui/workflows/{name}")
    assert "<form" not in page
    assert f"dcf start {name}@1.0.0" in text_of(page)


def test_a_key_bound_to_a_project_sees_only_its_own_workflows_and_runs(application: Application) -> None:
    mine, theirs = f"w-{secrets.token_hex(4)}", f"w-{secrets.token_hex(4)}"
    document = {"asl": {"StartAt": "A", "States": {"A": TASK}}}
    for name, project in ((mine, "mine"), (theirs, "theirs")):
        ask = acting(application, project=project)
        ask.ask("start_run", workflow_json={"workflow_name": name, **document})
    visit = acting(application, project="mine")
    page = workflows_page(visit, {})
    assert mine in page
    assert theirs not in page
    assert f'name="name" value="{mine}"' in workflow_page(visit, {}, mine)
    with pytest.raises(ToolRefused, match="no workflow"):
        workflow_page(visit, {}, theirs)


def test_a_key_without_the_scope_read_is_refused(application: Application) -> None:
    visit = Visit(application=application, caller=Caller(name="key:0123456789ab", scopes=frozenset({Scope.WORK})))
    with pytest.raises(ToolRefused, match="scope 'read'"):
        workflows_page(visit, {})
    with pytest.raises(InvalidArgument, match="kind"):
        workflows_page(visit, {"kind": "nonsense"})


async def test_hostile_text_is_shown_and_never_obeyed(application: Application, browser: Browser) -> None:
    visible = HOSTILE.replace("\u202e", "").replace("\x1b", "")
    name = f"w-{secrets.token_hex(4)}<img src=x>"
    asl = {"StartAt": "A", "Comment": HOSTILE, "States": {"A": TASK}}
    properties = {visible: {"type": "string", "title": HOSTILE, "description": HOSTILE, "enum": [HOSTILE]}}
    kept(application, name=name, asl=asl, workflow_input_schema={"type": "object", "properties": properties})
    visit = acting(application)
    page = workflow_page(visit, {}, name)
    check_harmless(page)
    check_harmless((await browser.post("/ui/validate", {"workflow_json": json.dumps({"asl": asl | {"X": 1}})})).text)
    assert "<img src=x" not in workflows_page(visit, {})
    with pytest.raises(ToolRefused) as refused:
        workflow_page(visit, {}, HOSTILE)
    assert HOSTILE not in refused.value.message
