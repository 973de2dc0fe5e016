"""Changes of a run as the commands of one MULTI.

All documents go in a single JSON.MSET: one command, however many states a transition touches.
"""

from collections.abc import Iterator, Mapping

from dcf.core import codec
from dcf.core.decision import Changes, Event, Notice, Tally
from dcf.store.authors import current_author
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, encode_state
from dcf.values.json_text import dump


def commit_commands(run: RunKeys, changes: Changes) -> list[Command]:
    """List the commands that make the changes so, in the order in which they are best read in a monitor."""
    return [
        *_forgotten(run, changes),
        *_documents(run, changes),
        *_counts(run, changes),
        *(event_command(run, event) for event in changes.events),
        *(notice_command(run, notice) for notice in changes.notices),
        *_timers(run, changes.timers),
        *_claims(run, changes.claims),
        *_sizes(run, changes),
    ]


def read_counts(run: RunKeys, changes: Changes, commands: list[Command], results: list[Reply]) -> dict[str, Tally]:
    """Tell how the scopes stand whose counts the commit added to."""
    owners = {run.join(path): path for path in changes.ended}
    found: dict[str, dict[str, int]] = {}
    for command, result in zip(commands, results, strict=True):
        if command[0] == "HINCRBY":
            found.setdefault(owners[str(command[1])], {})[str(command[2])] = int(result)
    return {path: Tally(done=counts["done"], failed=counts.get("failed", 0)) for path, counts in found.items()}


def event_command(run: RunKeys, event: Event) -> Command:
    """One entry of the run's history; `by` says whose call it came from, if it was one."""
    fields: list[str] = ["type", event.type]
    author = current_author()
    if author is not None:
        fields += ["by", author]
    if event.state is not None:
        fields += ["state", event.state]
    if event.data:
        fields += ["data", dump(dict(event.data))]
    return ("XADD", run.events, "*", *fields)


def notice_command(run: RunKeys, notice: Notice) -> Command:
    """One notification owed."""
    fields: list[str | int] = ["type", notice.type, "epoch", notice.epoch, "reason", notice.reason]
    who = {"state": notice.state, "source": notice.source, "agent_id": notice.agent_id, "about": notice.about}
    fields += [part for name, value in who.items() if value is not None for part in (name, value)]
    return ("XADD", run.outbox, "*", *fields)


def _documents(run: RunKeys, changes: Changes) -> Iterator[Command]:
    parts = [part for triple in _triples(run, changes) for part in triple]
    if parts:
        yield ("JSON.MSET", *parts)


def _triples(run: RunKeys, changes: Changes) -> Iterator[tuple[str, str, str]]:
    if changes.meta_document is not None:
        yield run.meta, "$", dump(dict(changes.meta_document))
        yield run.definition, "$", dump(changes.definition)
    for field, value in changes.meta.items():
        yield run.meta, f"$.{field}", dump(value)  # nosemgrep: jsonpaths-are-not-formatted - fields of our own
    for name, doc in changes.states.items():
        yield run.state(name), "$", dump(codec.write_state(doc))
    for name, given in changes.inputs.items():
        yield run.input(name), "$", dump(given.effective)
        if given.must_keep_entry:
            yield run.entry(name), "$", dump(codec.write_entry(given.entry))
    for name, output in changes.outputs.items():
        yield run.output(name), "$", dump(output)
    for name, items in changes.items.items():
        yield run.items(name), "$", dump(items)
    for name, results in changes.results.items():
        yield run.results(name), "$", dump(results)
    if changes.audit is not None:
        yield run.audit, "$", dump(dict(changes.audit))


def _forgotten(run: RunKeys, changes: Changes) -> Iterator[Command]:
    gone = [*map(run.join, changes.opened), *map(run.output, changes.dropped)]
    if gone:
        yield ("DEL", *gone)


def _counts(run: RunKeys, changes: Changes) -> Iterator[Command]:
    for path, ended in changes.ended.items():
        yield ("HINCRBY", run.join(path), "done", ended.done)
        if ended.failed:
            yield ("HINCRBY", run.join(path), "failed", ended.failed)
            yield ("HSET", run.join(path), "failure", dump([ended.error, ended.cause]))


def _timers(run: RunKeys, timers: Mapping[str, int | None]) -> Iterator[Command]:
    gone = [encode_state(state) for state, due in timers.items() if due is None]
    if gone:
        yield ("ZREM", run.timers, *gone)
    due: list[str | int] = []
    for state, at in timers.items():
        if at is not None:
            due += [at, encode_state(state)]
    if due:
        yield ("ZADD", run.timers, *due)


def _claims(run: RunKeys, claims: Mapping[str, str | None]) -> Iterator[Command]:
    for mark, state in claims.items():
        yield ("HDEL", run.claims, mark) if state is None else ("HSET", run.claims, mark, encode_state(state))


def _sizes(run: RunKeys, changes: Changes) -> Iterator[Command]:
    for path, size in changes.sizes.items():
        yield ("ZADD", run.scopes, "GT", size, encode_state(path))
