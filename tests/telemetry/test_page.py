"""docs/operating/tracing.md names every attribute that spans have, and no other."""

import re

from dcf.telemetry import spans
from tests.support.paths import ROOT

PAGE = ROOT / "docs/operating/tracing.md"
MADE = {"dcf.run.id", "dcf.workflow.name", "dcf.state", "dcf.wait_ms", "dcf.open", "gen_ai.tool.name"}
GENAI = {"gen_ai.operation.name", "gen_ai.agent.id"}


def test_the_table_of_attributes_has_each_one() -> None:
    rows = re.findall(r"^\| ((?:`(?:dcf|gen_ai)\.[\w.]+`(?:, )?)+) \|", PAGE.read_text(), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    assert len(set(named)) == len(named)
    texts = {f"dcf.{name}" for name in spans._TOLD}
    assert set(named) == texts | set(spans._USED.values()) | MADE | GENAI
