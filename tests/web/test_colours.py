"""The colours of the page and of pictures on it: every text differs enough from its background, in both themes."""

import re
from typing import Final

import pytest

from dcf.workflows.drawing import PAGE_STYLE
from tests.support.paths import ROOT
from tests.support.tables import rows

SHEET: Final = (ROOT / "dcf" / "web" / "static" / "page.css").read_text("utf-8")
VARIABLES: Final = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", SHEET)
}
GROUNDS: Final = ("page", "card", "box")
STATUSES: Final = ("accent", "good", "bad", "warn")
PAIRS: Final = (
    *((text, ground) for text in ("ink", "soft", *STATUSES) for ground in GROUNDS),
    *((status, f"{status}-box") for status in STATUSES),
    *((text, f"{status}-box") for text in ("ink", "soft") for status in STATUSES),
    *(("accent", f"{status}-box") for status in ("good", "bad", "warn")),
    ("bad", "accent-box"),
    ("on-accent", "accent"),
    ("card", "bad"),
)
"""Text, and its backgrounds."""

PICTURE: Final = {
    selector: (light, dark)
    for selector, light, dark in re.findall(r"([^{}]+)\{fill:light-dark\((#\w{6}),(#\w{6})\)", PAGE_STYLE)
}
PICTURE_PAIRS: Final = (
    *((f".dcf-{status}>.dcf-note .dcf-word", f".dcf-{status}>.dcf-shape")
      for status in ("running", "succeeded", "failed", "cancelled")),
    *((text, ground) for text in (".dcf-name", ".dcf-note")
      for ground in (".dcf-shape", ".dcf-panel", ".dcf-running>.dcf-shape", ".dcf-failed>.dcf-shape")),
    (".dcf-text", ".dcf-plate"),
    (".dcf-text-caught", ".dcf-plate"),
)  # fmt: skip


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_wcag_does() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@rows(("text", "ground"), PAIRS, ids=map("-on-".join, PAIRS))
def test_text_of_the_page_can_be_read_in_both_themes(text: str, ground: str) -> None:
    for theme in (0, 1):
        assert contrast(VARIABLES[text][theme], VARIABLES[ground][theme]) >= 4.5, theme


@rows(("text", "ground"), PICTURE_PAIRS)
def test_text_of_a_picture_can_be_read_in_both_themes(text: str, ground: str) -> None:
    for theme in (0, 1):
        assert contrast(PICTURE[text][theme], PICTURE[ground][theme]) >= 4.5, theme


@rows("ground", ["page", "card"])
def test_the_borders_of_fields_and_buttons_can_be_seen(ground: str) -> None:
    for theme in (0, 1):
        assert contrast(VARIABLES["edge"][theme], VARIABLES[ground][theme]) >= 3, theme


def test_a_box_without_a_status_can_be_told_from_the_page_by_its_outline() -> None:
    outline = re.search(r"\.dcf-shape\{fill:[^;]+;stroke:light-dark\((#\w{6}),(#\w{6})\)\}", PAGE_STYLE)
    assert outline is not None
    for theme, colour in enumerate(outline.groups()):
        assert contrast(colour, PICTURE[".dcf-page"][theme]) >= 3
