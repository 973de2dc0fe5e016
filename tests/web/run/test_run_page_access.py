"""Access to the page of a run and its files: a caller with the scope to read, and of the run's project."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import Forbidden, UnknownRun
from dcf.web.downloads import artifact_file, history_file, value_file
from dcf.web.run.page import run_page
from dcf.web.visit import ToolRefused, Visit
from tests.support.tables import rows
from tests.support.world import World
from tests.web import run_stories as stories

READER = Caller(name="ray", scopes=frozenset({Scope.READ}))
PAGES = [run_page, value_file, history_file]


def visit(application: Application, **more: Any) -> Visit:
    scopes = more.pop("scopes", READER.scopes)
    return Visit(application=application, caller=Caller(name="ray", scopes=scopes, **more))


@rows("page", PAGES)
def test_a_caller_with_the_scope_to_read_sees_a_run(
    application: Application, agents: World, page: Callable[..., object]
) -> None:
    assert page(visit(application), {"part": "input"}, stories.failed(agents))


@rows("page", PAGES)
def test_a_caller_without_the_scope_to_read_is_refused(
    application: Application, agents: World, page: Callable[..., object]
) -> None:
    with pytest.raises(Forbidden, match="'read'"):
        page(visit(application, scopes=frozenset({Scope.WORK})), {"part": "input"}, stories.failed(agents))


@rows("page", PAGES)
def test_a_run_of_another_project_is_not_there(
    application: Application, agents: World, page: Callable[..., object]
) -> None:
    with pytest.raises(UnknownRun):
        page(visit(application, project="elsewhere"), {"part": "input"}, stories.failed(agents))


def test_an_artifact_of_a_run_of_another_project_is_refused_by_its_tool(
    application: Application, agents: World
) -> None:
    with pytest.raises(ToolRefused) as refused:
        artifact_file(visit(application, project="elsewhere"), {}, stories.failed(agents), "a-1")
    assert refused.value.code == "unknown_run"
