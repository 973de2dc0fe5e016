"""The commands `dcf context show`: which place the other commands work on, and the list of places.

A key is read from a file or from standard input, never from the command line, which other users can read. No command
prints one.
"""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli.arguments import JsonFlag, Yes
from dcf.cli.asking import ask, can_ask
from dcf.cli.commands.formats import print_json
from dcf.cli.places.choice import place_in_use
from dcf.cli.places.completion import complete_context
from dcf.cli.places.context import Context, Contexts, check_name, check_url, describe, with_path
from dcf.cli.places.context_file import key_path, path_of_contexts, read_contexts, write_contexts
from dcf.cli.places.keys import check_key, key_for
from dcf.cli.places.private_files import write_private
from dcf.cli.reading.views import console, print_line, say
from dcf.cli.text import clean
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.records import replace

_MOST_CHARACTERS: Final = 4096

Name = Annotated[str, typer.Argument(help="Name of the context.", autocompletion=complete_context)]


def show(as_json: JsonFlag = False) -> None:
    """Say which place commands work on, and why: this machine, or a server by URL and key.

    The first of these counts: --context NAME, DCF_CONTEXT, REDIS_URL (this machine), DCF_SERVER_URL (with DCF_API_KEY),
    what `dcf context use` chose, and else this machine.
    """
    chosen = place_in_use()
    if as_json:
        print_json(dict(describe(chosen)))
        return
    place = chosen.context
    print_line(f"{clean(place.name)}: {clean(place.url or 'the control plane of this machine')}")
    print_line(f"It is in use because {clean(chosen.because)}.")
    if place.key_file is not None:
        print_line(f"key file: {clean(place.key_file)}")
    if place.project is not None:
        print_line(f"project: {clean(place.project)}")


def add(
    name: Annotated[str, typer.Argument(help="Name of the context: letters, digits, _ and -.")],
    url: Annotated[str, typer.Option(help="URL of the server, as https://HOST/mcp.")],
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with the API key, which only you can read. Default: it is read from standard input."),
    ] = None,
    project: Annotated[str | None, typer.Option(help="Project for commands that take one and are given none.")] = None,
    replace_it: Annotated[bool, typer.Option("--replace", help="Replace the context of this name.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add a server by its URL and an API key. No call is made.

    The key is read from standard input, and kept in a file that only you can read; nothing there means no key.

    Example:  dcf context add prod --url https://dcf.example.com/mcp < prod.key
    """
    path = path_of_contexts()
    contexts = read_contexts(path)
    if check_name(name) in contexts.known and not replace_it:
        raise InvalidArgument(f"There is a context {name} already.", "Add --replace, or choose another name.")
    added = Context(
        name=name,
        url=with_path(check_url(url, "--url")),
        key_file=None if key_file is None else str(key_file.absolute()),
        project=None if project is None else check_id(project, "--project"),
    )
    if key_file is not None:
        key_for(added)
    else:
        added = replace(added, key_file=_kept(key_path(path, name)))
    write_contexts(path, Contexts(known={**contexts.known, name: added}, current=contexts.current))
    if added.key_file != str(key_path(path, name)):
        _forget_key(contexts.known.get(name), path)
    if as_json:
        print_json({"name": name, "url": added.url, "key_file": added.key_file, "project": project})
        return
    without = "" if added.key_file is not None else ", without a key"
    say(f"context {name} is {added.url}{without}; `dcf context use {name}` makes it the one in use")


def use(name: Name, as_json: JsonFlag = False) -> None:
    """Choose the place that commands work on where nothing else says so; `local` is this machine.

    Example:  dcf context use prod
    """
    path = path_of_contexts()
    contexts = read_contexts(path)
    chosen = contexts.named(name)
    write_contexts(path, replace(contexts, current=None if chosen.is_local else name))
    used = place_in_use()
    if as_json:
        print_json(dict(describe(used)))
        return
    say(f"commands work on {clean(used.title)} now" if used.context == chosen else _overruled(name, used.because))


def list_contexts(as_json: JsonFlag = False) -> None:
    """List the contexts, `local` first; a star stands before the one in use.

    Example:  dcf context ls
    """
    contexts, used = read_contexts(path_of_contexts()), place_in_use()
    listed = [contexts.named("local"), *(item for _, item in sorted(contexts.known.items()))]
    if as_json:
        fields = ("name", "url", "key_file", "project")
        rows = [{**{field: getattr(item, field) for field in fields}, "used": item == used.context} for item in listed]
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("", "name", "server", "key file", "project"):
        table.add_column(heading, overflow="fold")
    for item in listed:
        cells = (item.name, item.url or "this machine", item.key_file or "", item.project or "")
        table.add_row("*" if item == used.context else "", *(Text(clean(cell)) for cell in cells))
    console().print(table)
    if not used.is_named:
        say(f"{clean(used.title)} is in use: {clean(used.because)}")


def remove(name: Name, yes: Yes = False, as_json: JsonFlag = False) -> None:
    """Remove a context, and its key where `dcf context add` kept that; a file that --key-file named stays.

    Example:  dcf context rm prod --yes
    """
    path = path_of_contexts()
    contexts = read_contexts(path)
    if contexts.named(name).is_local:
        raise InvalidArgument("The context local is this machine.", "It is always there.")
    is_ours = contexts.known[name].key_file == str(key_path(path, name))
    ask(f"Remove context {name}{' and its key' if is_ours else ''}?", yes=yes, place="")
    left = {other: item for other, item in contexts.known.items() if other != name}
    write_contexts(path, Contexts(known=left, current=None if contexts.current == name else contexts.current))
    _forget_key(contexts.known[name], path)
    if as_json:
        print_json({"name": name, "removed": True, "key_removed": is_ours})
        return
    say(f"context {name} is removed")


def _kept(path: Path) -> str | None:
    """Read a key from standard input and keep it; return its file, or None where there is no key."""
    if can_ask():
        text = typer.prompt(
            "API key (nothing for a server without keys)", default="", show_default=False, hide_input=True
        )
    else:
        text = sys.stdin.read(_MOST_CHARACTERS)
    if not text.strip():
        return None
    write_private(path, check_key(text, "Standard input") + "\n")
    return str(path)


def _forget_key(removed: Context | None, path: Path) -> None:
    """Remove the key that was kept for a context; a file of its user stays."""
    if removed is not None and removed.key_file == str(key_path(path, removed.name)):
        key_path(path, removed.name).unlink(missing_ok=True)


def _overruled(name: str, because: str) -> str:
    return f"context {name} is chosen, but not in use here: {clean(because)}"
