"""The commands `dcf keys`: add, list, show and revoke API keys for the HTTP transport.

They write to Redis directly, not through a server: a user who can reach Redis is trusted already.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.authorship import recorded
from dcf.cli.commands.formats import print_json
from dcf.cli.reading.views import console, say, table
from dcf.cli.text import clean
from dcf.core.access.model import MEANINGS, ApiKey, Scope
from dcf.core.access.quotas import BOUNDS, Amount, read_quota, with_own
from dcf.errors import InvalidArgument, StoreUnavailable, UnknownKey
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import Json
from dcf.values.profile_names import SYSTEM_PROFILES
from dcf.values.record_json.codec import RecordCodec
from dcf.values.spans import read_span

_LONGEST_LABEL: Final = 100
_LIFE: Final = "90d"
_NEVER: Final = "never"


def add(
    scope: Annotated[list[Scope] | None, typer.Option(help="A scope besides read; may be repeated.")] = None,
    agent_id: Annotated[str | None, typer.Option(help="The only agent that the key may act as.")] = None,
    any_agent: Annotated[bool, typer.Option("--any-agent", help="Let the key act as any agent.")] = False,
    group: Annotated[
        list[str] | None, typer.Option(help="Group of people that --agent-id belongs to; may be repeated.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The only project whose runs the key may see and change.")] = None,
    expires: Annotated[str, typer.Option(help="Life of the key, as 90d, 12h or 30m, or never.")] = _LIFE,
    quota: Annotated[
        list[str] | None,
        typer.Option(help=f"A quota of its own, NAME=VALUE; may be repeated. Names: {', '.join(BOUNDS)}."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help=f"Serve the tools of this system in place of dcf's: {', '.join(SYSTEM_PROFILES)}."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The purpose of the key, in a few words.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key and print it, this once: only its digest is stored.

    It acts as one agent, --agent-id, unless --any-agent is given. A worker needs read and work, a planner read, work
    and plan, a person who approves read and answer; without --scope a key may only read. Scopes of OpenFactory:
    mcp:read is read, mcp:write is work.

    Examples:  dcf keys add --scope work --agent-id pricing-1 --expires 90d
    dcf keys add --scope answer --agent-id alice --group finance
    """
    _check_binding(agent_id, any_agent=any_agent)
    project = None if project is None else check_id(project, "--project")
    groups, system = _groups(group or [], agent_id), _profile(profile)
    scopes = tuple(each_scope for each_scope in Scope if each_scope is Scope.READ or each_scope in (scope or ()))
    quotas = dict(map(read_quota, quota or ()))
    life_s = None if expires == _NEVER else _seconds(expires)
    about = {"scopes": ",".join(scopes), **_bound(agent_id=agent_id, project=project)}
    with opening.application() as application, recorded(application, "keys add", about) as recording:
        made = application.keys.create(
            scopes,
            agent_id=agent_id,
            label=None if label is None else check_name(label, "--label", _LONGEST_LABEL),
            life_s=life_s,
            quotas=quotas,
            groups=groups,
            project=project,
            profile=system,
        )
        recording.about["key_id"] = made.record.key_id
    if as_json:
        print_json({"key": made.text, **_row(made.record, made.record.created_at)})
        return
    typer.echo(made.text)
    owner = " of ".join(filter(None, (agent_id or "any agent", ", ".join(groups))))
    owner = owner if project is None else f"{owner}, in project {project} only"
    life = "for ever" if life_s is None else f"for {expires}"
    say(f"key {made.record.key_id} may {', '.join(scopes)} as {owner}, {life}; it is shown only now.")
    say(f"its quotas are {_own(quotas) or 'those of the servers'}")
    say("callers set DCF_API_KEY to it")


add.__doc__ = "\n\n".join(
    (inspect.getdoc(add) or "", *(f"{scope.value}: {meaning}" for scope, meaning in MEANINGS.items()))
)


def show(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id (see `dcf keys ls`).")],
    as_json: JsonFlag = False,
) -> None:
    """Show one key: what it may do, its quotas, and how much of them is used."""
    _check_key_id(key_id)
    with opening.application() as application:
        records, now = application.keys.all()
        record = next((key for key in records if key.key_id == key_id), None)
        if record is None:
            raise UnknownKey(key_id)
        used = asdict(application.usage.of(key_id))
        quotas = asdict(with_own(application.settings.quotas, record.quotas))
    row = _row(record, now) | {"quotas": {name: {"limit": quotas[name], "used": used.get(name)} for name in quotas}}
    if as_json:
        print_json(row)
        return
    console().print(_table([row]))
    columns, whole = ("quota", "limit", "used", "set by", "meaning"), ("quota", "limit", "used", "set by")
    console().print(table(columns, _quota_rows(row["quotas"], record.quotas), whole=whole))


def list_keys(as_json: JsonFlag = False) -> None:
    """List the keys, oldest first, without the keys themselves."""
    with opening.application() as application:
        records, now = application.keys.all()
    rows = [_row(record, now) for record in records]
    if as_json:
        print_json(rows)
        return
    out = console()
    if not rows:
        out.print(Text("No keys yet. Make one:  dcf keys add --scope work --agent-id NAME"), soft_wrap=True)
        return
    out.print(_table(rows))


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id (see `dcf keys ls`).")],
    as_json: JsonFlag = False,
) -> None:
    """End a key permanently, at every server at once."""
    _check_key_id(key_id)
    with opening.application() as application:
        record = application.keys.revoke(key_id)
        try:
            with recorded(application, "keys revoke", {"key_id": key_id}):
                pass
        except StoreUnavailable as error:  # a key can be revoked even when Redis is full
            say(f"the audit trail has no entry for it: {error.message}")
    if as_json:
        print_json(_row(record, record.created_at))
        return
    typer.echo(f"key {record.key_id} is revoked")


def _check_key_id(text: str) -> None:
    if not re.fullmatch(r"[0-9a-f]{12}", text, re.ASCII):
        raise InvalidArgument("ID is not the id of a key.", "List the ids with `dcf keys ls`; never pass the key.")


def _check_binding(agent_id: str | None, *, any_agent: bool) -> None:
    if agent_id is not None:
        check_id(agent_id, "--agent-id")
    if (agent_id is None) is not any_agent:
        raise InvalidArgument(
            "A key acts as one agent or as any: give either --agent-id or --any-agent.",
            "Bind a key to its agent where you can: dcf keys add --scope work --agent-id pricing-1",
        )


def _bound(**named: str | None) -> dict[str, str]:
    """Return what the key is bound to, by name."""
    return {name: value for name, value in named.items() if value is not None}


def _groups(named: list[str], agent_id: str | None) -> tuple[str, ...]:
    if named and agent_id is None:
        raise InvalidArgument(
            "A group goes with --agent-id: a key that acts as any agent names the group with each answer.",
            "Leave --group out, or bind the key to a person.",
        )
    return tuple(dict.fromkeys(check_id(name, "--group") for name in named))


def _profile(name: str | None) -> str | None:
    if name in {None, *SYSTEM_PROFILES}:
        return name
    raise InvalidArgument("--profile is no system's.", f"Use one of {', '.join(SYSTEM_PROFILES)}, or leave it out.")


def _seconds(span: str) -> int:
    life = read_span(span)
    if life is None:
        raise InvalidArgument(
            "--expires is no length of time.", "Write it as 90d, 12h, 30m or 45s, at most ten years, or never."
        )
    return life


def _row(record: ApiKey, now: int) -> dict[str, Json]:
    return {"key_id": record.key_id, "standing": record.standing(now), **_ROW.write(record)}


_ROW: Final = RecordCodec(
    ApiKey,
    "scopes agent_id groups profile project label created_at expires_at revoked_at quotas",
    named={"quotas": "own_quotas"},
    times="created_at expires_at revoked_at",
)


def _table(rows: list[dict[str, Json]]) -> Table:
    columns = ("key", "standing", "scopes", "agent", "expires", "own quotas", "label")
    return table(columns, map(_cells, rows), whole=("key", "standing"))


def _cells(row: Mapping[str, Json]) -> tuple[str, ...]:
    scopes, expires = ",".join(row["scopes"]), clean(row["expires_at"] or "never", 20)[:19].replace("T", " ")
    where = [] if row["project"] is None else [f"in {row['project']}"]
    owner = ", ".join([row["agent_id"] or "any", *(f"of {group}" for group in row["groups"]), *where])
    return row["key_id"], row["standing"], scopes, owner, expires, _own(row["own_quotas"]), row["label"] or ""


def _own(quotas: Mapping[str, Amount]) -> str:
    return " ".join(f"{name}={amount}" for name, amount in quotas.items())


def _quota_rows(quotas: Mapping[str, Mapping[str, Json]], own: Mapping[str, Amount]) -> Iterator[tuple[Json, ...]]:
    for name, row in quotas.items():
        by = "the key" if name in own else "the server's settings"
        yield name, row["limit"], "" if row["used"] is None else row["used"], by, BOUNDS[name].meaning
