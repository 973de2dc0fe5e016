"""The commands `dcf keys`: create, list and revoke API keys for the HTTP transport.

They write to Redis directly, not through a server: a user who can reach Redis is trusted already.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.application import Application, open_application
from dcf.cli.text import clean, json_text
from dcf.cli.views import console, say
from dcf.core.access import MEANINGS, ApiKey, Scope, local_caller
from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.settings import read_settings
from dcf.store.audit_trail import Recording
from dcf.store.authors import authored_by
from dcf.values.identifiers import check_id, check_name
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_SPANS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_LIFE_S: Final = 10 * 365 * 86_400
_LONGEST_LABEL: Final = 100
_DEFAULT: Final = (Scope.WORK,)
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]

keys = typer.Typer(
    name="keys",
    no_args_is_help=True,
    help="Make, list and revoke API keys, which agents elsewhere call `dcf serve --transport http` with.\n\n"
    + "\n\n".join(f"{scope.value}: {meaning}" for scope, meaning in MEANINGS.items()),
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(keys)


@keys.command()
def create(
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What the key grants besides read; may be repeated. Default: work.")
    ] = None,
    agent_id: Annotated[str | None, typer.Option(help="The only agent that the key may act as; default: any.")] = None,
    expires: Annotated[str | None, typer.Option(help="Life of the key, as 90d, 12h or 30m; default: for ever.")] = None,
    label: Annotated[str | None, typer.Option(help="What the key is for, in a few words.")] = None,
    as_json: _AsJson = False,
) -> None:
    """Make a key and print it, this once: only its digest is stored.

    A worker needs read and work, a planner read, work and plan.

    Example:  dcf keys create --scope read --scope work --agent-id pricing-1 --expires 90d
    """
    if agent_id is not None:
        check_id(agent_id, "--agent-id")
    scopes = tuple(one for one in Scope if one is Scope.READ or one in (scope or _DEFAULT))
    about = {"scopes": ",".join(scopes), **({} if agent_id is None else {"agent_id": agent_id})}
    with open_application(read_settings()) as found, _recorded(found, "keys create", about) as recording:
        made = found.keys.create(scopes, agent_id=agent_id, label=_label(label), life_s=_seconds(expires))
        recording.about["key_id"] = made.record.key_id
    if as_json:
        typer.echo(json_text({"key": made.text, **_row(made.record, made.record.created_at)}, indent=2))
        return
    typer.echo(made.text)
    who, life = agent_id or "any agent", "for ever" if expires is None else f"for {expires}"
    say(f"key {made.record.key_id} may {', '.join(scopes)} as {who}, {life}; it is shown only now.")
    say("callers set DCF_API_KEY to it")


@keys.command("list")
def list_keys(as_json: _AsJson = False) -> None:
    """List the keys, oldest first, without the keys themselves."""
    with open_application(read_settings()) as found:
        records, now = found.keys.all()
    rows = [_row(record, now) for record in records]
    if as_json:
        typer.echo(json_text(rows, indent=2))
        return
    out = console()
    if not rows:
        out.print(Text("No keys yet. Make one:  dcf keys create"), soft_wrap=True)
        return
    out.print(_table(rows))


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id (see `dcf keys list`).")],
    as_json: _AsJson = False,
) -> None:
    """End a key for good, at every server at once."""
    if not re.fullmatch(r"[0-9a-f]{12}", key_id, re.ASCII):
        raise InvalidArgument("ID is not the id of a key.", "List the ids with `dcf keys list`; never pass the key.")
    with open_application(read_settings()) as found:
        record = found.keys.revoke(key_id)
        try:
            with _recorded(found, "keys revoke", {"key_id": key_id}):
                pass
        except StoreUnavailable as error:  # a key can be revoked even when Redis is full
            say(f"the audit trail does not tell of it: {error.message}")
    if as_json:
        typer.echo(json_text(_row(record, record.created_at), indent=2))
        return
    typer.echo(f"key {record.key_id} is revoked")


@contextmanager
def _recorded(found: Application, change: str, about: Mapping[str, str]) -> Iterator[Recording]:
    """Record a change in the audit trail, made by the user of dcf on this machine."""
    with authored_by(local_caller(operator=True).name), found.audit.recording(change, about) as recording:
        yield recording
        recording.outcome = "ok"


def _seconds(span: str | None) -> int | None:
    if span is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", span, re.ASCII)
    life = 0 if found is None else int(found[1]) * _SPANS[found[2]]
    if not 0 < life <= _LONGEST_LIFE_S:
        raise InvalidArgument("--expires is no length of time.", "Write it as 90d, 12h, 30m or 45s, at most ten years.")
    return life


def _label(text: str | None) -> str | None:
    return None if text is None else check_name(text, "--label", _LONGEST_LABEL)


def _row(record: ApiKey, now: int) -> dict[str, Json]:
    return {
        "key_id": record.key_id,
        "standing": record.standing(now),
        "scopes": [scope.value for scope in record.scopes],
        "agent_id": record.agent_id,
        "label": record.label,
        "created_at": to_text(record.created_at),
        "expires_at": None if record.expires_at is None else to_text(record.expires_at),
        "revoked_at": None if record.revoked_at is None else to_text(record.revoked_at),
    }


def _table(rows: list[dict[str, Json]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("key", "standing", "scopes", "agent", "expires", "label"):
        table.add_column(name, no_wrap=name in {"key", "standing"}, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, _cells(row)))
    return table


def _cells(row: Mapping[str, Json]) -> tuple[str, ...]:
    scopes, expires = ",".join(row["scopes"]), clean(row["expires_at"] or "never", 20)[:19].replace("T", " ")
    return row["key_id"], row["standing"], scopes, row["agent_id"] or "any", expires, clean(row["label"] or "")
