"""The seed contract's generators: skill manifests and the stub server's configuration, from CSV tables.

A caller chooses files below the configured directories, never a directory. Sources are read below
DCF_SKILLS_SRC_DIR. Output goes where the settings put manifests, catalogue and stub configuration. The generators are
imported with the first call: few processes that serve the tools get one.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from dcf.authoring import csv_source
from dcf.errors import Forbidden
from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, RefusedWith, verb
from dcf.verbs.records.authoring import WrittenManifests, WrittenStubConfig

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.authoring.generation import Generation

_SHOWN: Final = 50
_EXIT_OTHER: Final = 4
_ABOUT_PATHS: Final = frozenset({"file_not_found", "path_refused"})
_SOURCE: Final = "{} below the directory of skill sources; default {}."
_TARGET: Final = "{} below its configured directory; leave out for the configured one."
_CATALOG: Final = "skills_catalog.json"
_NOTHING_WRITTEN: Final = {"ok": False, "exit_code": _EXIT_OTHER, "warnings": (), "problems": []}
_LONGEST: Final = 1000

_ToolsTable = Annotated[str, Argument(means=_SOURCE.format("Table of tools", csv_source.TOOLS), max_length=_LONGEST)]


@verb(
    toolset="authoring",
    scope="admin",
    effect="destroys",
    says=lambda answer: f"Wrote {len(answer['manifests'])} manifests and their catalogue.",
    codes=("invalid_source",),
    audit=("skills_csv_path",),
    in_refusals={**_NOTHING_WRITTEN, "written_files": (), "manifests": ()},
)
def csv_to_manifests(
    on: "Application",
    *,
    skills_csv_path: Annotated[
        str, Argument(means=_SOURCE.format("Table of skills", csv_source.SKILLS), max_length=_LONGEST)
    ] = csv_source.SKILLS,
    refs_csv_path: Annotated[
        str,
        Argument(
            means=_SOURCE.format("Table of the tools that skills need", csv_source.REFERENCES), max_length=_LONGEST
        ),
    ] = csv_source.REFERENCES,
    mcp_tools_csv_path: _ToolsTable = csv_source.TOOLS,
    out_dir: Annotated[
        str | None, Argument(means=_TARGET.format("Directory for manifests"), max_length=_LONGEST)
    ] = None,
    catalog_path: Annotated[str | None, Argument(means=_TARGET.format("Catalogue file"), max_length=_LONGEST)] = None,
) -> Answered[WrittenManifests] | RefusedWith:
    """Write skill manifests and their catalogue from CSV tables of skills, tool references and tools.

    Everything is checked first: with any problem nothing is written, and `problems` lists them all by file, line and
    column. Manifests that an earlier call wrote and the tables no longer have are removed.
    """
    from dcf.authoring import generation, output  # noqa: PLC0415 - see the docstring of the module

    settings = on.settings
    root = settings.skills_src_dir
    sources = (skills_csv_path, refs_csv_path, mcp_tools_csv_path)
    manifests = _target("out_dir", out_dir, settings.manifests_dir, settings.manifests_dir)
    catalog = _target("catalog_path", catalog_path, settings.skills_catalog, settings.skills_catalog.parent)
    if catalog.suffix != ".json":
        catalog /= _CATALOG
    made = generation.generate_manifests(root, *(_source(source, root) for source in sources))
    if not made.ok:
        return _refused(made, root)
    outputs = generation.manifest_outputs(made, manifests, catalog)
    output.write_all(outputs, generation.stale_manifests(outputs, manifests, catalog))
    members = {
        "ok": True,
        "exit_code": 0,
        "warnings": list(made.warnings[:_SHOWN]),
        "written_files": [str(written.path) for written in outputs],
        "manifests": [
            {
                "manifestId": manifest.record.manifest_id,
                "skillName": manifest.record.name,
                "skillVersion": manifest.record.version,
                "path": str(manifests / manifest.file),
            }
            for manifest in made.manifests
        ],
    }
    return Answered(WrittenManifests, members)


@verb(
    toolset="authoring",
    scope="admin",
    effect="destroys",
    says=lambda answer: f"Wrote the stub configuration with {answer['tool_count']} tools.",
    codes=("invalid_source",),
    audit=("mcp_tools_csv_path",),
    in_refusals={**_NOTHING_WRITTEN, "tool_count": 0, "case_count": 0},
)
def csv_to_stub_config(
    on: "Application",
    *,
    mcp_tools_csv_path: _ToolsTable = csv_source.TOOLS,
    mcp_cases_csv_path: Annotated[
        str, Argument(means=_SOURCE.format("Table of cases", csv_source.CASES), max_length=_LONGEST)
    ] = csv_source.CASES,
    out_path: Annotated[str | None, Argument(means=_TARGET.format("Configuration file"), max_length=_LONGEST)] = None,
) -> Answered[WrittenStubConfig] | RefusedWith:
    """Write the configuration of the stub MCP server from CSV tables of tools and cases.

    With any problem nothing is written, and `problems` lists them all. A running stub loads the new file automatically.
    """
    from dcf.authoring import generation, output  # noqa: PLC0415 - see the docstring of the module

    settings = on.settings
    root = settings.skills_src_dir
    path = _target("out_path", out_path, settings.stub_config, settings.stub_config.parent)
    made = generation.generate_stub(root, _source(mcp_tools_csv_path, root), _source(mcp_cases_csv_path, root))
    if not made.ok:
        return _refused(made, root)
    output.write_all([generation.stub_output(made, path)])
    tools = list(made.config.tools)
    members = {
        "ok": True,
        "exit_code": 0,
        "warnings": list(made.warnings[:_SHOWN]),
        "written_file": str(path),
        "tool_count": len(tools),
        "case_count": sum(len(tool.cases) for tool in tools),
    }
    return Answered(WrittenStubConfig, members)


def _source(path: str, root: Path) -> str:
    """Return a source's path relative to its directory; a path elsewhere is unchanged, and refused by the reader."""
    try:
        real, inside = os.path.realpath(path), os.path.realpath(root)
    except ValueError:
        return path
    return os.path.relpath(real, inside) if Path(real).is_relative_to(inside) else path


def _target(name: str, chosen: str | None, configured: Path, root: Path) -> Path:
    """Return the output path; raise unless it is below the configured directory. A relative path may start there."""
    if chosen is None:
        return configured
    for path in (Path(chosen), root / chosen):
        try:
            inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
        except ValueError:
            break
        if inside:
            return path
    raise Forbidden(f"{name} leads out of its configured directory.", f"Leave {name} out of the call.")


def _refused(made: "Generation", root: Path) -> RefusedWith:
    first = made.problems[0]
    more = f" There are {len(made.problems) - 1} more in problems." if len(made.problems) > 1 else ""
    where = f" The directory of skill sources is '{root}' (DCF_SKILLS_SRC_DIR)." if first.code in _ABOUT_PATHS else ""
    message = f"{first.place}: {first.message}{more}"
    refusal = Refusal(code="invalid_source", message=message, hint=f"{first.hint}{where}")
    members = {
        "warnings": list(made.warnings[:_SHOWN]),
        "problems": [problem.as_json() for problem in made.problems[:_SHOWN]],
    }
    return RefusedWith(refusal, members)


add_tools(__name__)
