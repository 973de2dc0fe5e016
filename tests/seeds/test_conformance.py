"""All 74 tools of the five seed documents: each is the same here, or its page of differences says what is not.

`extract.py` made `tools.json` from the documents. It leaves out their prose.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dcf.profiles.arguments import schema_of
from dcf.profiles.catalog import profile_of
from dcf.tools.mcp import selection  # noqa: F401 - importing it registers all tools
from dcf.verbs.answers.schemas import answer_schema
from dcf.verbs.registry import TOOLS
from dcf.verbs.schemas import listed_of, parameters_of
from tests.profiles.contract import CONTRACTS
from tests.support.paths import ROOT
from tests.support.tables import rows

DOCUMENTS: Final[dict[str, dict[str, dict[str, list[str]]]]] = json.loads(
    Path(__file__).with_name("tools.json").read_text("utf-8")
)
PAGES: Final = {
    "dcf": "dcf*.md",
    "deepwork": "deepwork.md",
    "openfactory": "openfactory.md",
    "midex": "midex.md",
    "mission-control": "mission-control.md",
}
TABLE: Final = [(system, tool) for system, tools in DOCUMENTS.items() for tool in tools]


def served(system: Any, tool: str) -> tuple[set[str], set[str], set[str]]:
    """Return the arguments of the tool, those that a list shows, and the fields that its answers may have."""
    if system == "dcf":
        spec = TOOLS[tool]
        takes, listed = set(parameters_of(spec)["properties"]), set(listed_of(spec)["properties"])
        return takes, listed, set(answer_schema(spec)["properties"])
    takes = set(schema_of(profile_of(system).tools[tool].arguments)["properties"])
    contract = CONTRACTS[system][tool]
    return takes, takes, set(contract.answer | contract.may)


def differences(system: str, tool: str) -> Iterator[str]:
    """Yield the documented parameters that are not taken or not listed, and the documented fields that are missing."""
    documented = DOCUMENTS[system][tool]
    takes, listed, answers = served(system, tool)
    for name in documented["takes"]:
        if name not in takes & listed:
            yield name
    for name in documented["answers"]:
        if name not in answers:
            yield name


def explained(system: str) -> set[str]:
    """Return the names on the pages of differences."""
    pages = sorted((ROOT / "docs" / "reference" / "compatibility").glob(PAGES[system]))
    page = "\n".join(path.read_text("utf-8") for path in pages)
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", page))))


def test_the_documents_have_74_tools() -> None:
    counts = {system: len(tools) for system, tools in DOCUMENTS.items()}
    assert counts == {"deepwork": 3, "openfactory": 4, "midex": 20, "dcf": 37, "mission-control": 10}


@rows(("system", "tool"), TABLE)
def test_a_tool_is_the_same_or_its_page_says_what_is_not(system: str, tool: str) -> None:
    assert set(differences(system, tool)) <= explained(system)


@pytest.mark.parametrize("tool", DOCUMENTS["dcf"])
def test_every_documented_parameter_of_dcf_is_accepted(tool: str) -> None:
    assert set(DOCUMENTS["dcf"][tool]["takes"]) <= served("dcf", tool)[0]
