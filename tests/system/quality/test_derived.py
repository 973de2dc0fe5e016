"""What is derived from the descriptions of verbs and checked in. Ruff formats it, so the first tier cannot make it."""

import pytest

from dcf.verbs.description.verb import VERBS
from dcf.verbs.registry import TOOLS
from interfaces.sources import derived_sources


def test_what_is_checked_in_is_what_the_descriptions_say() -> None:
    assert [path.name for path, text in derived_sources() if path.read_text("utf-8") != text] == []


def test_what_is_derived_does_not_depend_on_which_module_was_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    text = {path.name: text for path, text in derived_sources()}
    tools = sorted(TOOLS.values(), key=lambda tool: tool.run.__module__, reverse=True)
    described = {tool.name: VERBS[tool.name] for tool in tools if tool.name in VERBS}
    monkeypatch.setattr("interfaces.table.TOOLS", {tool.name: tool for tool in tools})
    monkeypatch.setattr("interfaces.sources.VERBS", described)
    assert {path.name: text for path, text in derived_sources()} == text
