"""Pages of decisions are short and have one form: status, question, decision, reasons, consequences, alternatives."""

import re
from typing import Final

from tests.support.paths import ROOT
from tests.support.tables import rows

DECISIONS: Final = ROOT / "docs" / "decisions"
PAGES: Final = sorted(str(page.relative_to(DECISIONS)) for page in DECISIONS.glob("*/*.md"))
HEADINGS: Final = ["Question", "Decision", "Reasons", "Consequences", "Alternatives tried"]
MOST_WORDS: Final = 600
_START: Final = re.compile(
    r"# [^\n]+\n\nStatus: (accepted|superseded by \S+), \d{4}-\d\d-\d\d\.[^\n]*\n\n## Question\n\n[^\n]+\?\n"
)


def text_of(page: str) -> str:
    return (DECISIONS / page).read_text("utf-8")


@rows("page", PAGES)
def test_a_decision_has_at_most_600_words(page: str) -> None:
    assert len(text_of(page).split()) <= MOST_WORDS


@rows("page", PAGES)
def test_a_decision_has_a_status_a_question_and_the_headings(page: str) -> None:
    text = text_of(page)
    assert _START.match(text), "Begin with a title, a status with a date, and one question."
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS


@rows("page", PAGES)
def test_no_section_of_a_decision_is_empty(page: str) -> None:
    sections = re.split(r"^## .+$", text_of(page), flags=re.MULTILINE)[1:]
    assert all(section.strip() for section in sections)


def test_there_are_decisions() -> None:
    assert len(PAGES) > 30
