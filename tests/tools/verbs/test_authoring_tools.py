"""The generators as tools: the seed's parameters and fields, files of the configured directories only."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.stub.config_file import ConfigFile
from dcf.tools.mcp.server import build_server
from dcf.verbs.registry import TOOLS
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio

SHIPPED = ROOT / "skills_src"
COMMITTED = SHIPPED.parent / "generated"

SEED = {
    "csv_to_manifests": {
        "parameters": {"skills_csv_path", "refs_csv_path", "mcp_tools_csv_path", "out_dir", "catalog_path"},
        "fields": {"ok", "exit_code", "status", "error", "written_files", "manifests", "warnings"},
    },
    "csv_to_stub_config": {
        "parameters": {"mcp_tools_csv_path", "mcp_cases_csv_path", "out_path"},
        "fields": {"ok", "exit_code", "status", "error", "written_file", "tool_count", "case_count", "warnings"},
    },
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the shipped sources, where everything is configured to lie."""
    shutil.copytree(SHIPPED, tmp_path / "skills_src")
    return tmp_path


@pytest.fixture
def author(replica: Callable[..., Application], place: Path) -> Application:
    return replica(
        profile="all",
        skills_src_dir=place / "skills_src",
        manifests_dir=place / "generated" / "manifests",
        skills_catalog=place / "generated" / "catalogs" / "skills_catalog.json",
        STUB_CONFIG=place / "generated" / "stub" / "stub_config.json",
    )


async def call(author: Application, tool: str, **arguments: Any) -> Any:
    async with Client(build_server(author)) as client:
        return await (await Tools.of(client)).call(tool, **arguments)


async def test_a_table_that_is_not_there_is_met_with_the_directory_of_tables(author: Application, place: Path) -> None:
    answer = await call(author, "csv_to_manifests", skills_csv_path="mine.csv")
    assert answer.code == "invalid_source"
    assert f"'{place / 'skills_src'}' (DCF_SKILLS_SRC_DIR)" in answer.hint


async def ok(author: Application, tool: str, **arguments: Any) -> Any:
    answer = await call(author, tool, **arguments)
    assert (answer.code, answer["ok"], answer["exit_code"]) == ("ok", True, 0), answer.text
    return answer


def generated(place: Path) -> dict[str, str]:
    files = (place / "generated").rglob("*")
    return {path.relative_to(place).as_posix(): path.read_text("utf-8") for path in files if path.is_file()}


@rows("tool", SEED)
async def test_the_tools_have_the_parameters_and_fields_of_the_seed(author: Application, tool: str) -> None:
    async with Client(build_server(author)) as client:
        (result,) = [item for item in (await client.list_tools()).tools if item.name == tool]
    assert result.input_schema.get("required", []) == []
    assert SEED[tool]["parameters"] <= set(result.input_schema["properties"])
    assert SEED[tool]["fields"] <= set(TOOLS[tool].answer.model_fields)
    assert result.annotations is not None
    assert result.annotations.destructive_hint is True


async def test_without_arguments_everything_configured_is_generated(author: Application, place: Path) -> None:
    manifests = await ok(author, "csv_to_manifests")
    stub = await ok(author, "csv_to_stub_config")
    committed = {
        f"generated/{path.relative_to(COMMITTED).as_posix()}": path.read_text() for path in COMMITTED.rglob("*.json")
    }
    assert generated(place) == committed
    assert len(manifests["written_files"]) == 7
    first = manifests["manifests"][0]
    assert (first["manifestId"], first["skillName"], first["skillVersion"]) == (
        "skill.calculate.pricing@0.1.0",
        "calculate.pricing",
        "0.1.0",
    )
    assert first["path"] in manifests["written_files"]
    assert (stub["tool_count"], stub["case_count"]) == (13, 37)
    assert stub["written_file"].endswith("generated/stub/stub_config.json")


async def test_generating_again_changes_nothing(author: Application, place: Path) -> None:
    await ok(author, "csv_to_manifests")
    first = generated(place)
    await ok(author, "csv_to_manifests")
    assert generated(place) == first


async def test_files_may_be_named_from_their_directory_or_by_their_whole_path(author: Application, place: Path) -> None:
    (place / "skills_src" / "more").mkdir()
    (place / "skills_src" / "skills.csv").rename(place / "skills_src" / "more" / "chosen.csv")
    for name in ("more/chosen.csv", str(place / "skills_src" / "more" / "chosen.csv")):
        await ok(author, "csv_to_manifests", skills_csv_path=name, catalog_path="mine/")
    assert (place / "generated" / "catalogs" / "mine" / "skills_catalog.json").is_file()
    await ok(author, "csv_to_stub_config", out_path=str(place / "generated" / "stub" / "other.json"))
    assert (place / "generated" / "stub" / "other.json").is_file()


async def test_with_a_problem_nothing_is_written_and_every_problem_is_told(author: Application, place: Path) -> None:
    await ok(author, "csv_to_manifests")
    before = generated(place)
    table = place / "skills_src" / "skills.csv"
    table.write_text(
        table.read_text("utf-8").replace(",intranet,", ",anywhere,").replace(",calculate.pricing,", ",added,")
    )
    answer = await call(author, "csv_to_manifests")
    assert (answer.code, answer["ok"], answer["exit_code"], answer.broken) == ("invalid_source", False, 4, False)
    assert answer.error.startswith("invalid_source: skills.csv:2 (permissions.egress): ")
    assert answer.hint == "Use one of: none, intranet, internet."
    assert [problem["line"] for problem in answer["problems"]] == [2, 10, 18, 19, 22, 25]
    assert {problem["code"] for problem in answer["problems"]} == {"invalid_value"}
    assert (answer["written_files"], answer["manifests"]) == ([], [])
    assert generated(place) == before


@rows(
    ("tool", "parameter"),
    [
        (tool, parameter)
        for tool, seed in SEED.items()
        for parameter in sorted(seed["parameters"])
        if not parameter.startswith("out_d")
    ],
)
@rows("path", ["../secret.csv", "/etc/passwd", "nul\0byte", "skills_src/../../x.json"])
async def test_d_104_no_path_leads_out_of_its_directory(
    author: Application, place: Path, tool: str, parameter: str, path: str
) -> None:
    (place / "secret.csv").write_text("manifestId\nthe-secret\n")
    answer = await call(author, tool, **{parameter: path})
    assert answer.code in {"invalid_source", "forbidden"}
    if answer.code == "invalid_source":
        assert answer["problems"][0]["code"] in {"path_refused", "file_not_found"}
    assert "the-secret" not in answer.text
    assert generated(place) == {}


async def test_d_104_manifests_are_written_where_they_belong(author: Application, place: Path) -> None:
    for path in ("..", "/tmp", str(place)):
        assert (await call(author, "csv_to_manifests", out_dir=path)).code == "forbidden"
    assert generated(place) == {}


async def test_a_link_is_no_way_out(author: Application, place: Path) -> None:
    (place / "elsewhere").mkdir()
    (place / "generated").mkdir()
    (place / "generated" / "stub").symlink_to(place / "elsewhere")
    (place / "generated" / "catalogs").mkdir()
    (place / "generated" / "catalogs" / "out").symlink_to(place / "elsewhere")
    assert (await call(author, "csv_to_manifests", catalog_path="out/catalog.json")).code == "forbidden"
    assert list((place / "elsewhere").iterdir()) == []


async def test_a_directory_that_cannot_be_written_is_told(author: Application, place: Path) -> None:
    (place / "generated").write_text("a file, not a directory")
    answer = await call(author, "csv_to_stub_config")
    assert (answer.code, answer["ok"], answer.broken) == ("invalid_argument", False, True)
    assert "cannot be written" in answer.error


async def test_what_the_tools_write_a_stub_can_serve(author: Application, place: Path) -> None:
    await ok(author, "csv_to_stub_config")
    served = ConfigFile(place / "generated" / "stub" / "stub_config.json").current()
    assert set(served.servers) == {"accounts", "documents", "orders", "pricing", "support"}
