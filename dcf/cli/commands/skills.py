"""The commands `dcf skills`: generate manifests and stub configuration from sources, check and list them.

The generators are imported only where they are needed: their libraries take a tenth of a second to import.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from dcf.cli import exit_codes, opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.places.choice import elsewhere
from dcf.cli.reading.views import console, print_wrapped, table
from dcf.cli.text import clean
from dcf.data import find_directory
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.authoring.generation import Generation
    from dcf.authoring.output import Output
    from dcf.settings.process import Settings

_LONGEST: Final = 1000

_Source = Annotated[
    Path | None, typer.Argument(metavar="[SOURCE]", help="Directory of sources; default DCF_SKILLS_SRC_DIR.")
]


def generate(
    source: _Source = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write below this directory: manifests/, catalogs/, stub/. Default: where the settings say."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 if files would change.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Generate manifests, their catalogue and the stub's configuration. With any problem nothing is written.

    Sources are CSV tables (skills.csv, skill_tool_refs.csv, mcp_tools.csv, mcp_cases.csv), YAML files
    (*.skill.yaml, tools/*.tools.yaml) and Agent Skills folders (SKILL.md and dcf.yaml).

    Exit codes: 0 written (or current), 1 problems in the sources (or --check found a difference), 2 cannot be written.

    --json prints {ok, problems, warnings, manifests, tool_count, case_count, written_files, removed_files,
    changed_files}.
    """
    from dcf.authoring.generation import stale_manifests
    from dcf.authoring.output import write_all

    settings = _places(opening.settings(), out)
    generation = _generation(source or settings.skills_src_dir)
    outputs = _outputs(generation, settings) if generation.ok else []
    stale = stale_manifests(outputs, settings.manifests_dir, settings.skills_catalog) if generation.ok else []
    changed = [*(str(output.path) for output in outputs if not output.is_current), *map(str, stale)]
    if generation.ok and not check:
        write_all(outputs, stale)
    written = [str(output.path) for output in outputs] if not check else []
    files: dict[str, Json] = {
        "written_files": written,
        "removed_files": [] if check else [str(output) for output in stale],
    }
    good = generation.ok and not (check and changed)
    if as_json:
        print_json(_summary(generation) | files | {"ok": good, "changed_files": changed})
    else:
        _print_generation(
            generation, f"{len(written)} files written" if not check else "nothing written", changed if check else []
        )
    raise typer.Exit(0 if good else exit_codes.NO)


def validate(
    path: Annotated[
        Path | None, typer.Argument(help="Directory of sources, or one manifest (JSON); default DCF_SKILLS_SRC_DIR.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check sources, or one manifest, without writing anything. Each problem is one line with its place.

    Exit codes: 0 valid, 1 problems.  --json prints {ok, problems, warnings, …}.
    """
    chosen = path or opening.settings().skills_src_dir
    if chosen.is_file():
        summary = _judged(chosen)
        if as_json:
            print_json(summary)
        else:
            _print_judgement(chosen, summary)
        raise typer.Exit(0 if summary["ok"] else exit_codes.NO)
    generation = _generation(chosen)
    if as_json:
        print_json(_summary(generation))
    else:
        _print_generation(generation, "valid", [])
    raise typer.Exit(0 if generation.ok else exit_codes.NO)


def list_skills(as_json: JsonFlag = False) -> None:
    """List the generated manifests that planners can choose from: of DCF_MANIFESTS_DIR, or of the server in use."""
    items = list(_listed_there()) if elsewhere() else _listed_here()
    if as_json:
        print_json(items)
        return
    columns, whole = ("skill", "description", "tools", "problems"), ("skill", "tools", "problems")
    console().print(table(columns, map(_cells, items), whole=whole, overflow="ellipsis"))


def _cells(item: Mapping[str, Json]) -> tuple[Json, ...]:
    tools = ", ".join(str(name) for name in item["toolNames"])
    return item["manifestId"] or item["path"], item["description"] or "", tools, "; ".join(item["errors"])


def _listed_here() -> list[dict[str, Json]]:
    from dcf.skills.library import Library
    from dcf.skills.listing import list_directory

    return list_directory(Library(directory=find_directory(opening.settings().manifests_dir)), None, None).items


def _listed_there() -> Iterator[dict[str, Json]]:
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import pages

    with place() as used:
        yield from pages(used, "get_skillset", "available_skills", include_previews=False)


def _places(settings: "Settings", out: Path | None) -> "Settings":
    if out is None:
        return settings
    places = {
        "manifests_dir": out / "manifests",
        "skills_catalog": out / "catalogs" / "skills_catalog.json",
        "stub_config": out / "stub" / "stub_config.json",
    }
    return settings.model_copy(update=places)


def _generation(source: Path) -> "Generation":
    from dcf.authoring.generation import generate as generate_from

    if not source.is_dir():
        raise InvalidArgument(f"There is no directory {source}.", "Check the path, or set DCF_SKILLS_SRC_DIR.")
    return generate_from(source)


def _outputs(generation: "Generation", settings: "Settings") -> "list[Output]":
    from dcf.authoring.generation import manifest_outputs, stub_output

    outputs = manifest_outputs(generation, settings.manifests_dir, settings.skills_catalog)
    return [*outputs, stub_output(generation, settings.stub_config)]


def _summary(generation: "Generation") -> dict[str, Json]:
    tools = list(generation.config.tools)
    return {
        "ok": generation.ok,
        "problems": [item.as_json() for item in generation.problems],
        "warnings": list(generation.warnings),
        "manifests": [item.record.manifest_id for item in generation.manifests],
        "tool_count": len(tools),
        "case_count": sum(len(item.cases) for item in tools),
    }


def _judged(path: Path) -> dict[str, Json]:
    from dcf.skills.manifest import MAX_MANIFEST, judge

    try:
        with path.open("rb") as file:
            text = file.read(MAX_MANIFEST + 1).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{path} cannot be read as UTF-8 text.", "Check the file.") from None
    judgement = judge(text)
    problems = [problem.as_json() for problem in judgement.problems]
    return {"ok": judgement.ok, "problems": problems, "warnings": list(judgement.warnings)}


def _print_judgement(path: Path, summary: dict[str, Json]) -> None:
    out = console()
    for problem in summary["problems"]:
        sentence = f"{path}: {problem['path'] or '/'}: {problem['code']}: {problem['message']} {problem['hint']}"
        print_wrapped(out, Text(clean(sentence, _LONGEST)), indent=4)
    _print_warnings(summary["warnings"])
    good = summary["ok"]
    words = "is valid" if good else "is not valid"
    print_wrapped(
        out, Text(f"{'✔' if good else '✘'} {clean(path)} {words}", style="green" if good else "red"), indent=4
    )


def _print_generation(generation: "Generation", done: str, changed: list[str]) -> None:
    out = console()
    for item in generation.problems:
        print_wrapped(out, Text(clean(item, _LONGEST)), indent=4)
    _print_warnings(generation.warnings)
    if not generation.ok:
        count = "1 problem" if len(generation.problems) == 1 else f"{len(generation.problems)} problems"
        out.print(Text(f"✘ {count}; nothing was written", style="red"))
        return
    for name in changed:
        print_wrapped(out, Text(f"would change: {clean(name, _LONGEST)}"), indent=4)
    tools = list(generation.config.tools)
    cases = sum(len(item.cases) for item in tools)
    counts = f"{len(generation.manifests)} skills, {len(tools)} tools, {cases} cases"
    good = not changed
    out.print(Text(f"{'✔' if good else '✘'} {counts}; {done}", style="green" if good else "red"))


def _print_warnings(warnings: "tuple[str, ...] | list[str]") -> None:
    for warning in warnings:
        print_wrapped(console(), Text(f"warning: {clean(warning, _LONGEST)}", style="yellow"), indent=4)
