"""Projects in Redis: a document each, written together with the indexes that name it, by compare-and-set.

The first packet has WATCH, TIME and the reads, the second MULTI, the document, the index entries and EXEC. The
project of a run is recorded in the run's meta document, and never changes. A project counts for the key that created
it: before it is written as the larger of the old and the new document, and afterwards as it is. Makes no decisions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from dcf.core.access.model import KEY_CALLER, LOCAL
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import Facet, agents_in
from dcf.features.projects.model import Project, ProjectFound, ProjectPlace, ProjectPut, read_project, write_project
from dcf.store.access.authors import current_account
from dcf.store.access.counting import CountedDocument, forget_counted, hold, new_mark, settle
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import companions
from dcf.store.keys import table as keys
from dcf.store.keys.projects import PROJECTS, project, projects_at, projects_of
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask
from dcf.store.lists.shards import in_every_shard, newest, newest_commands
from dcf.store.transaction.attempts import Attempts, commit
from dcf.values.json_text import dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

_PROJECT = ("project",)
_AGENTS = ("agents",)

_NEWEST_RUNS = 50


@record(frozen=True, slots=True, kw_only=True)
class ProjectUse:
    """How a project is used: its runs by status (near, as all counts of lists), its newest runs with their agents."""

    last_used: int | None
    runs: int
    by_status: Mapping[str, int]
    newest: Sequence[str]
    agents: Sequence[str]


class ProjectStore:
    """The projects of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)

    def of_run(self, workflow_id: str) -> str | None:
        """Return the project of a run; None if it has none, or there is no such run."""
        form = self._connections.form
        (reply,) = self._connections.send(form.members(RunKeys(workflow_id).meta, _PROJECT))
        name = (form.values(_PROJECT, reply) or {}).get("project")
        return name if isinstance(name, str) else None

    def put(
        self,
        project_id: str,
        places: Sequence[ProjectPlace],
        author: str,
        decide: Callable[[ProjectFound], ProjectPut | Refusal],
    ) -> ProjectPut | Refusal:
        """Read, decide, commit; retry after a lost race."""
        barrier = companions.barrier(project(project_id))

        def once(connection: Connection) -> ProjectPut | Refusal:
            stored = _read(self._connections.form, connection, project_id, places, author)
            answer = self._attempts.result_of(connection, barrier, lambda: decide(stored))
            if not isinstance(answer, ProjectPut) or not answer.changed:
                self._attempts.let_go(connection, barrier)
                return answer
            counted, mark = _counted(answer.project), new_mark()
            refusal = self._hold(counted, mark)
            if refusal is not None:
                self._attempts.let_go(connection, barrier)
                return refusal
            commit(connection, list(_commands(self._connections.form, stored, answer.project)))
            self._attempts.confirm(connection, barrier)
            settle(self._connections, counted.key, counted.owner, counted.size, mark)
            return answer

        return self._attempts.until_done(once)

    def _hold(self, counted: CountedDocument, mark: str) -> Refusal | None:
        """Count a project for its owner; refuse it beyond the quotas of the caller, if it is the owner."""
        account = current_account()
        is_own = account is not None and account.key_id == counted.owner
        return hold(self._connections, counted, account if is_own else None, mark)

    def read(self, project_ids: Sequence[str]) -> list[Project]:
        """Return those of these projects that there are."""
        form = self._connections.form
        replies = (
            self._connections.send(*(form.read(project(project_id)) for project_id in project_ids))
            if project_ids
            else []
        )
        return [read_project(load(text)) for text in map(form.text, replies) if text is not None]

    def at(self, path: str, machine: str | None) -> list[str]:
        """Return the ids of the projects that have a path, on this machine or on any."""
        (pairs,) = self._connections.send(("HGETALL", projects_at(path)))
        by_machine = dict(
            zip((part.decode() for part in pairs[::2]), (part.decode() for part in pairs[1::2]), strict=True)
        )
        if machine is None:
            return list(dict.fromkeys(by_machine.values()))
        project_id = by_machine.get(machine) or by_machine.get("")
        return [] if project_id is None else [project_id]

    def page(self, after: tuple[int, str] | None, limit: int) -> tuple[list[tuple[int, str]], int]:
        """Return ids of projects with their last use, the newest first, after a place, and how many there are."""
        high = "+inf" if after is None else str(after[0])
        result, skipped = list[tuple[int, str]](), 0
        while len(result) < limit:
            entries: Command = (
                *("ZRANGE", PROJECTS, high, "-inf", "BYSCORE", "REV", "LIMIT", skipped, limit + 1),
                "WITHSCORES",
            )
            count, raw = self._connections.send(("ZCARD", PROJECTS), entries)
            page = [(int(float(at)), letta.decode()) for letta, at in zip(raw[::2], raw[1::2], strict=True)]
            result += [entry for entry in page if after is None or entry < after]
            skipped += len(page)
            if len(page) <= limit:
                break
        return result[:limit], int(count)

    def use_of(self, project_id: str) -> ProjectUse:
        """Return how a project is used."""
        index, shards = keys.runs_by(Facet.PROJECT, project_id), self._connections.shards
        counts: list[Command] = [("ZCARD", key) for key in in_every_shard(index, shards)]
        for status in RunStatus:
            lists = zip(
                in_every_shard(index, shards), in_every_shard(keys.runs_by(Facet.STATUS, status), shards), strict=True
            )
            counts += [("ZINTERCARD", 2, *both) for both in lists]
        score, *replies = self._connections.send(
            ("ZSCORE", PROJECTS, project_id), *counts, *newest_commands(index, shards, _NEWEST_RUNS)
        )
        count, *by_status = (sum(replies[first : first + shards]) for first in range(0, len(counts), shards))
        ids = newest(replies[len(counts) :], _NEWEST_RUNS)
        form = self._connections.form
        replies = self._connections.send(*(form.members(RunKeys(run).meta, _AGENTS) for run in ids)) if ids else []
        agents_read = [form.values(_AGENTS, reply) or {} for reply in replies]
        agents = [agent for own in agents_read if "agents" in own for agent in agents_in(own["agents"])]
        return ProjectUse(
            last_used=None if score is None else int(float(score)),
            runs=count,
            by_status={status.value: count for status, count in zip(RunStatus, by_status, strict=True) if count},
            newest=ids,
            agents=list(dict.fromkeys(agents)),
        )

    def delete(self, project_id: str) -> bool:
        """Delete a project and its entries; return False if it was gone already."""
        barrier = companions.barrier(project(project_id))

        def once(connection: Connection) -> bool:
            form = self._connections.form
            opening: list[Command] = [("WATCH", project(project_id)), form.read(project(project_id))]
            _, reply = map(checked, exchange(connection, opening))
            text = form.text(reply)
            result = None if text is None else read_project(load(text))
            commands: list[Command] = [("DEL", project(project_id)), ("ZREM", PROJECTS, project_id)]
            if result is not None:
                commands += [("ZREM", projects_of(result.created_by), project_id)]
                commands += [("HDEL", projects_at(path.path), path.machine) for path in result.paths]
            commit(connection, commands)
            self._attempts.confirm(connection, barrier)
            if result is not None:
                counted = _counted(result)
                ask(self._connections, forget_counted(counted.owner, counted.key))
            return result is not None

        return self._attempts.until_done(once)


def _counted(project_record: Project) -> CountedDocument:
    """Return what a project counts as, and for which key; what the local user created is counted for that one."""
    by = project_record.created_by
    owner = by.removeprefix(KEY_CALLER) if by.startswith(KEY_CALLER) else LOCAL
    size = len(dump(write_project(project_record)).encode())
    return CountedDocument(key=project(project_record.project_id), owner=owner, size=size, life_s=0)


def _read(
    form: DocumentForm, connection: Connection, project_id: str, places: Sequence[ProjectPlace], author: str
) -> ProjectFound:
    own, place_keys = projects_of(author), [projects_at(place.path) for place in places]
    commands: list[Command] = [("HGET", key, place.machine) for key, place in zip(place_keys, places, strict=True)]
    opening: list[Command] = [
        ("WATCH", project(project_id), PROJECTS, *place_keys),
        *(("TIME",), form.read(project(project_id)), ("ZCARD", PROJECTS), ("ZCARD", own)),
        *commands,
    ]
    _, clock, document, count, own_count, *holders = map(checked, exchange(connection, opening))
    text = form.text(document)
    return ProjectFound(
        now=micros(clock),
        project=None if text is None else read_project(load(text)),
        holders={place: holder.decode() for place, holder in zip(places, holders, strict=True) if holder is not None},
        count=count,
        own_count=own_count,
    )


def _commands(form: DocumentForm, project_found: ProjectFound, changed: Project) -> Iterable[Command]:
    project_name, before = changed.project_id, () if project_found.project is None else project_found.project.paths
    yield form.put(project(project_name), dump(write_project(changed)))
    yield ("ZADD", PROJECTS, project_found.now, project_name)
    yield ("ZADD", projects_of(changed.created_by), changed.created_at, project_name)
    yield from (("HSET", projects_at(at.path), at.machine, project_name) for at in changed.paths)
    yield from (("HDEL", projects_at(at.path), at.machine) for at in before if at not in changed.paths)
