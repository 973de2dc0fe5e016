"""The seed contract's generators: skill manifests and the stub server's configuration, from CSV tables.

A caller chooses files below the configured directories, never a directory. Sources are read below
DCF_SKILLS_SRC_DIR. Output goes where the settings put manifests, catalogue and stub configuration. The generators are
imported with the first call: few processes that serve the tools get one.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.authoring import csv_source
from dcf.core.access.model import Scope
from dcf.errors import Forbidden
from dcf.values.json_text import Json
from dcf.verbs.registry import Answer, Arguments, tool

if TYPE_CHECKING:
    from dcf.authoring.generation import Generation

_SHOWN: Final = 50
_EXIT_OTHER: Final = 4
_SOURCE: Final = "{} below the directory of skill sources; default {}."
_TARGET: Final = "{} below its configured directory; leave out for the configured one."
_CATALOG: Final = "skills_catalog.json"


class CsvToManifests(Arguments):
    """Write skill manifests and their catalogue from CSV tables of skills, tool references and tools.

    Everything is checked first: with any problem nothing is written, and `problems` lists them all by file, line and
    column. Manifests that an earlier call wrote and the tables no longer have are removed.
    """

    skills_csv_path: str = Field(
        default=csv_source.SKILLS, max_length=1000, description=_SOURCE.format("Table of skills", csv_source.SKILLS)
    )
    refs_csv_path: str = Field(
        default=csv_source.REFERENCES,
        max_length=1000,
        description=_SOURCE.format("Table of the tools that skills need", csv_source.REFERENCES),
    )
    mcp_tools_csv_path: str = Field(
        default=csv_source.TOOLS, max_length=1000, description=_SOURCE.format("Table of tools", csv_source.TOOLS)
    )
    out_dir: str | None = Field(default=None, max_length=1000, description=_TARGET.format("Directory for manifests"))
    catalog_path: str | None = Field(default=None, max_length=1000, description=_TARGET.format("Catalogue file"))


class CsvToStubConfig(Arguments):
    """Write the configuration of the stub MCP server from CSV tables of tools and cases.

    With any problem nothing is written, and `problems` lists them all. A running stub takes the new file up by itself.
    """

    mcp_tools_csv_path: str = Field(
        default=csv_source.TOOLS, max_length=1000, description=_SOURCE.format("Table of tools", csv_source.TOOLS)
    )
    mcp_cases_csv_path: str = Field(
        default=csv_source.CASES, max_length=1000, description=_SOURCE.format("Table of cases", csv_source.CASES)
    )
    out_path: str | None = Field(default=None, max_length=1000, description=_TARGET.format("Configuration file"))


class WrittenFiles(Answer):
    """What both generators answer, the seed's pattern A: exit_code is 0, or 4 when nothing was written."""

    ok: bool = False
    exit_code: int = _EXIT_OTHER
    warnings: list[str] = Field(default_factory=list)
    problems: list[dict[str, Any]] = Field(default_factory=list)


class ManifestsWritten(WrittenFiles):
    """The manifests, each with manifestId, skillName, skillVersion and path."""

    written_files: list[str] = Field(default_factory=list)
    manifests: list[dict[str, str]] = Field(default_factory=list)


class StubConfigWritten(WrittenFiles):
    """The configuration, and how much is in it."""

    written_file: str | None = None
    tool_count: int = 0
    case_count: int = 0


@tool(
    toolset="authoring",
    scope=Scope.ADMIN,
    arguments=CsvToManifests,
    answer=ManifestsWritten,
    destructive=True,
    audit=("skills_csv_path",),
)
def csv_to_manifests(app: Application, args: CsvToManifests) -> ManifestsWritten:
    """Generate and write the manifests, or return the problems."""
    from dcf.authoring import generation, output  # noqa: PLC0415 - see the docstring of the module

    settings = app.settings
    root = settings.skills_src_dir
    sources = (args.skills_csv_path, args.refs_csv_path, args.mcp_tools_csv_path)
    out_dir = _target("out_dir", args.out_dir, settings.manifests_dir, settings.manifests_dir)
    catalog = _target("catalog_path", args.catalog_path, settings.skills_catalog, settings.skills_catalog.parent)
    if catalog.suffix != ".json":
        catalog /= _CATALOG
    found = generation.generate_manifests(root, *(_source(one, root) for one in sources))
    if not found.ok:
        return ManifestsWritten(**_problems(found))
    outputs = generation.manifest_outputs(found, out_dir, catalog)
    output.write_all(outputs, generation.stale_manifests(outputs, out_dir, catalog))
    return ManifestsWritten(
        status=f"Wrote {len(found.manifests)} manifests and their catalogue.",
        ok=True,
        exit_code=0,
        warnings=list(found.warnings[:_SHOWN]),
        written_files=[str(one.path) for one in outputs],
        manifests=[
            {
                "manifestId": one.record.manifest_id,
                "skillName": one.record.name,
                "skillVersion": one.record.version,
                "path": str(out_dir / one.file),
            }
            for one in found.manifests
        ],
    )


@tool(
    toolset="authoring",
    scope=Scope.ADMIN,
    arguments=CsvToStubConfig,
    answer=StubConfigWritten,
    destructive=True,
    audit=("mcp_tools_csv_path",),
)
def csv_to_stub_config(app: Application, args: CsvToStubConfig) -> StubConfigWritten:
    """Generate and write the configuration, or return the problems."""
    from dcf.authoring import generation, output  # noqa: PLC0415 - see the docstring of the module

    settings = app.settings
    root = settings.skills_src_dir
    path = _target("out_path", args.out_path, settings.stub_config, settings.stub_config.parent)
    found = generation.generate_stub(
        root, _source(args.mcp_tools_csv_path, root), _source(args.mcp_cases_csv_path, root)
    )
    if not found.ok:
        return StubConfigWritten(**_problems(found))
    output.write_all([generation.stub_output(found, path)])
    tools = list(found.config.tools)
    return StubConfigWritten(
        status=f"Wrote the stub configuration with {len(tools)} tools.",
        ok=True,
        exit_code=0,
        warnings=list(found.warnings[:_SHOWN]),
        written_file=str(path),
        tool_count=len(tools),
        case_count=sum(len(one.cases) for one in tools),
    )


def _source(given: str, root: Path) -> str:
    """Return a source's path relative to its directory; a path elsewhere is unchanged, and refused by the reader."""
    try:
        real, inside = os.path.realpath(given), os.path.realpath(root)
    except ValueError:
        return given
    return os.path.relpath(real, inside) if Path(real).is_relative_to(inside) else given


def _target(name: str, given: str | None, configured: Path, root: Path) -> Path:
    """Return the output path; raise unless it is below the configured directory. A relative path may start there."""
    if given is None:
        return configured
    for path in (Path(given), root / given):
        try:
            inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
        except ValueError:
            break
        if inside:
            return path
    raise Forbidden(f"{name} leads out of its configured directory.", f"Leave {name} out of the call.")


def _problems(found: "Generation") -> dict[str, Json]:
    first = found.problems[0]
    more = f" There are {len(found.problems) - 1} more in problems." if len(found.problems) > 1 else ""
    return {
        "error": f"invalid_source: {first.place}: {first.message}{more}",
        "code": "invalid_source",
        "hint": first.hint,
        "warnings": list(found.warnings[:_SHOWN]),
        "problems": [one.as_json() for one in found.problems[:_SHOWN]],
    }
