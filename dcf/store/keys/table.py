"""All Redis keys of dcf, but for those of capabilities (`features/*/keys.py`), text indexes and the web page.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:wf:<id>:meta`, `:definition`, `:state:<s>` | JSON | a run's transactions | the run's retention |
| `dp:wf:<id>:input:<s>`, `:entry:<s>`, `:output:<s>`, `:audit:finalize` | JSON | a run's transactions | the run's retention |
| `dp:wf:<id>:signals` | JSON | sending a signal, entering a state that waits for one: those that no state has taken | the run's retention |
| `dp:wf:<id>:journal` | hash | the journal: its entries by id, and the bytes of all (`#bytes`) | the run's retention |
| `dp:wf:<id>:journalorder` | sorted set | the same: entries by time, once for each list that has them (all, kind, agent, state, open issues) | the run's retention |
| `dp:wf:<id>:talk` | JSON | notes, questions and answers: how many notes were left, and the questions | the run's retention |
| `dp:wf:<id>:gates` | hash | submitting an output to gates, verdicts: by state, what was submitted and decided | the run's retention |
| `dp:wf:<id>:items:<s>`, `:results:<s>` | JSON | opening a Map; joining one that has a ResultWriter | the run's retention |
| `cp:wf:<id>:join:<s>` | hash | the end of each branch or iteration: how many ended, how many failed | the run's retention |
| `cp:wf:<id>:events`, `:outbox` | stream | a run's transactions; the outbox is trimmed by acknowledging | the run's retention |
| `cp:wf:<id>:told` | hash | delivery of notifications: by state, what was sent last and what failed last | the run's retention |
| `cp:wf:<id>:secret` | string | creation of a run that has task tokens: what they are made with | the run's retention |
| `cp:wf:<id>:barrier` | string | a transaction that waits for replicas (`DCF_WAIT_REPLICAS`) | a minute |
| `cp:wf:<id>:taking:<s>` | string | reading open states to claim one: which claim is about to take it, so that others take another | 50 ms; in no file and on no replica |
| `cp:wf:<id>:timers` | sorted set | a run's transactions; open states by when the timer loop must check them | the run's retention |
| `cp:wf:<id>:scopes` | sorted set | opening a Parallel or Map; all that ever were, by their largest size | the run's retention |
| `cp:wf:<id>:claims` | hash | claims of any state: which one a token got, as long as it holds it | the run's retention |
| `cp:wf:<id>:evaluating` | hash | a process before a risky evaluation (`core/completing/evaluation_marks.py`): for which state, which process, since when | until it has ended; those of dead processes with the run |
| `cp:wf:<id>:receipts` | hash | requests that displace another's receipt, and requests about the whole run: what older requests were told | the run's retention |
| `cp:wf:<id>:usage`, `:usageparts` | hash | completions that report usage: sums of the run; after the commit, those by state, agent and model; moving reports of runs below: `tree:` sums, on a cluster in the string `:usage:of:<run>` the last that they have | the run's retention; a week |
| `cp:wf:<id>:spent` | stream | the same: reports that are owed to the books (`features/usage/storage.py`) | until they are in the books, a moment later |
| `cp:idx:usage:owed` | sorted set | the same (before the run's keys): runs that owe reports, by when | a minute after the last report |
| `cp:idx:usage:<agent or project>:<id>`, and with `:<day>` | hash | moving reports to the books: sums of all time, and of a day | 400 days after the last report |
| `cp:idx:runs`, `cp:idx:live` | sorted set, on a cluster in 16 shards (`lists.shards`) | creation and start (before the run's keys); finalizing | `live` until the run is over, `runs` until a sweep finds it gone |
| `cp:idx:runs:<facet>:<value>` | sorted set, in such shards | a run's transactions (before the run's keys): runs by creation time that have a status, workflow, version, agent or tag, or that are stuck (`stuck`) or on hold (`held`) | until the run is deleted, or a sweep finds it gone |
| `cp:idx:due:<shard>` | sorted set | a run's transactions (before the run's keys), the clock: live runs by when the clock must look at them, at the latest | until the run is over |
| `cp:idx:inbox:<agent>` | stream | delivery of notifications, and reading them; trimmed by acknowledging | an event a week, an inbox a week after the last event, one without events 15 minutes after it was looked into |
| `cp:idx:inbox:<agent>:waiting`, `:taken` | sorted set | delivery and reading: unread events by their turn, the others by when they were handed out | with the inbox |
| `cp:idx:inbox:<agent>:book` | hash | delivery and reading: how many events of each run and each creator of runs are unread, and whose turn it is | with the inbox |
| `cp:idx:news` | stream; on a cluster channels of this name, one for each part of the agents | delivery of notifications: which inboxes got something, for the processes whose agents wait | the last 1000 or so |
| `cp:idx:gone:<agent>` | string | deleting an agent of ours, so that it does not come back as an inbox | a week |
| `cp:idx:asked:<list>` | sorted set | opening a human task (before the run's keys), ending it: open ones by person, group and run (`people/keys.py`) | until the task is over, or a sweep finds it so |
| `cp:idx:handed:<agent>:<digest>` | string | waits and claims (before the lease): which state this call was given, by the digest of its request id, or of its caller and what it asks for | an hour |
| `cp:idx:turn:<agent>` | string | a delivery, as long as it takes | 90 s |
| `cp:idx:sent:<agent>:<thing>` | string | delivery, to recognise a repetition: by run and state in an inbox, by event elsewhere | a day |
| `cp:idx:agent:<agent>` | JSON | making or registering an agent: its name and tags, its platform and how it is reached there, and of one that reads its record, blocks and tools | until it is deleted |
| `cp:idx:agents:tag:<tag>`, `:name:<name>`, on a cluster in 16 shards | sorted set | the same (before the record): agents by creation time | with their agents |
| `cp:idx:edit:{<key>}:<request>` | string | changing a document by hand (in its slot), to recognise a repetition | an hour |
| `cp:idx:skills:<agent>` | JSON | loading and unloading: what skills the agent has, and what each of them brought | until it has none |
| `cp:idx:workers:<id>` | JSON | creating and deleting the agents of a run: who was made for which state | with the run's retention, or a month |
| `cp:idx:keys:<key id>` | JSON | `dcf keys`: scopes, agent, expiry and the digest of an API key, never the key | for ever |
| `cp:idx:rate:<key id>` | hash | every request of an API key: what is left of its rates | an hour |
| `cp:idx:quota:<owner>` | hash | writes of an API key: the bytes of all that it holds | while it holds anything |
| `cp:idx:quota:receipts:<owner>` | sorted set | changing a document by hand: receipts with their bytes, by expiry | until a later write finds them expired |
| `cp:idx:quota:docs:<owner>` | sorted set | the JSON tools: documents by expiry; the owner is a key's id, or `local` | with its documents |
| `cp:idx:quota:sizes:<owner>` | hash | the same, on a cluster only (`counting`): bytes of each of these documents, and the mark of the write | with its documents |
| `cp:idx:quota:runs:<owner>` | sorted set | writes of an API key: runs that it wrote to, by when | until a sweep finds the run gone |
| `cp:idx:quota:live:<owner>` | sorted set | creating a run (before it): runs that may be live, by when | until the quota is asked for |
| `cp:idx:quota:part:<owner>:<run>` | hash | writes of an API key to a run (before them): bytes by what they are | with the entry of the run |
| `cp:idx:quota:inbox:<owner>` | sorted set | notifying: entries in inboxes that may be there, by when | a week |
| `cp:idx:def:<sha256>`, `cp:idx:def:of:<project>:<sha256>` | string | starting a run (before it): a workflow document that was started, in no project or in one | 90 days after it was last started by its name or kept |
| `cp:idx:defs:<name>`, `cp:idx:defs:of:<project>:<name>` | hash | the same: hashes of the documents of a workflow's name, by version, and the newest | as its documents |
| `cp:idx:docs`, on a cluster `cp:idx:docs:{<key>}` | hash | the JSON tools: of each document its owner, bytes and life | with its document |
| `cp:idx:keys`, on a cluster in 16 shards | sorted set | `dcf keys` (before the record): ids of API keys by creation time | for ever |
| `cp:idx:barrier:{<key>}` | string | a transaction outside runs that waits for replicas (in the slot of what it wrote); on a cluster, any write that does, to a key of its node | a minute |
| `cp:idx:documents` | string | the first process that connects, `dcf store move`: in which form documents are kept | for ever |
| `cp:idx:sweep` | string | the process that sweeps the indexes for wrong entries, so that no other does | an hour |
| `cp:idx:time`, on a cluster also in 16 shards | string | clocks, each time they look: the latest time of the server that any has seen | for ever |
| `cp:idx:layout` | string | the first process of dcf: the version of the key layout, and the dcf that wrote it (`connection/layout.py`) | for ever |
| `cp:idx:probe` | string | health reports: the small write that shows whether Redis takes writes; `…:{<tag>}` at nodes, `…:{<run>}` where a run is explained | a minute |
| `cp:idx:seen` | sorted set | servers, every few seconds: agents by when they last called a tool | the last 1000, a week after the last call |
| `cp:idx:platforms` | hash | processes whose circuit breaker is open, by kind of platform: since when, and the latest error | two minutes after the last |
| `cp:idx:traced:<run>` | string | sending the trace of an ended run (`traces/storage.py`): who does, then which end of it was sent | two days |
| `cp:idx:swept` | string | the sweep of the indexes, at its end: what it found | for ever |
| `cp:idx:audit` | stream | tools and commands that change something outside runs, before and after; refused calls, failed log-ins | as its indexes say |
| `cp:idx:audit:<author>` | sorted set | the same: entries of one key, of operators, of the refusals of a key, of log-ins | the last 10 000 of a key, 100 000 of operators, 1 000 refusals of a key, 10 000 log-ins |
| `cp:idx:expiring` | sorted set, in such shards | finalizing a run that is to expire (before): what it is listed under, by when its keys go | with the run |
| `cp:idx:assigned:<agent>` | sorted set | creating the agents of a run: runs that the agent was made for | a month |

Index keys are never part of a run's transaction. `KEY_KINDS` says which keys a run has; nothing else lists them.
"""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Final
from zlib import crc32

from dcf.store.keys.kinds import KEY_KINDS, Per
from dcf.store.keys.parts import Counted, agent_shard, encode_state
from dcf.values.records import record

RUNS = "cp:idx:runs"
LIVE = "cp:idx:live"
STUCK = "cp:idx:runs:stuck"
HELD = "cp:idx:runs:held"
KEY_INDEX = "cp:idx:keys"
AUDIT_TRAIL = "cp:idx:audit"
DOCUMENTS = "cp:idx:docs"
DOCUMENT_FORM = "cp:idx:documents"
SWEEP = "cp:idx:sweep"
DUE = "cp:idx:due:"
NEWS = "cp:idx:news"
SERVER_TIME = "cp:idx:time"
PROBE = "cp:idx:probe"
LAYOUT = "cp:idx:layout"
SEEN = "cp:idx:seen"
PLATFORMS = "cp:idx:platforms"
SWEPT = "cp:idx:swept"
_DUE_SHARDS: Final = 8  # fixed, since a run's due time is always written to the same key


@lru_cache(maxsize=1024)
def due(workflow_id: str) -> str:
    """Return the key that holds when the timer loop must check this run."""
    return f"{DUE}{crc32(workflow_id.encode()) % _DUE_SHARDS}"


def every_due() -> list[str]:
    """Return the keys that hold the due times of all runs."""
    return [f"{DUE}{shard}" for shard in range(_DUE_SHARDS)]


@lru_cache(maxsize=1024)
def runs_by(facet: str, value: str) -> str:
    """Return the key of the index of runs that have this value of a facet: status, workflow, version, agent, tag, project."""
    return f"{RUNS}:{facet}:{encode_state(value)}"


def news(agent_id: str, shards: int) -> str:
    """Return the key of the news that this agent got an event: one stream, on a cluster the channel of its part."""
    return NEWS if shards == 1 else f"cp:idx:{{a{agent_shard(agent_id)}}}:news"


def inbox(agent_id: str) -> str:
    """Return the key of an agent's inbox: its events until it acknowledges them."""
    return f"cp:idx:inbox:{agent_id}"


def inbox_parts(agent_id: str) -> tuple[str, str, str, str]:
    """Return the keys of an agent's inbox: the events, the order of unread and of handed-out ones, and the counts."""
    key = inbox(agent_id)
    return key, f"{key}:waiting", f"{key}:taken", f"{key}:book"


def sent(agent_id: str, part: str) -> str:
    """Return the key that remembers what the agent was sent last: of an event, or about a state of a run."""
    return f"cp:idx:sent:{agent_id}:{part}"


def handed(agent_id: str, digest: str) -> str:
    """Return the key that remembers what a call of the agent was given, by the digest of its request id."""
    return f"cp:idx:handed:{agent_id}:{digest}"


def agent(agent_id: str) -> str:
    """Return the key of an agent's record."""
    return f"cp:idx:agent:{agent_id}"


def definition(sha256: str, project: str | None = None) -> str:
    """Return the key of a kept workflow document: one of a project, or of none."""
    return f"cp:idx:def:{'' if project is None else f'of:{project}:'}{sha256}"


def definitions_named(name: str, project: str | None = None) -> str:
    """Return the key of the versions that are kept of a workflow, in a project or in none."""
    return f"cp:idx:defs:{'' if project is None else f'of:{project}:'}{encode_state(name)}"


def agents_tagged(tag: str) -> str:
    """Return the key of the index of agents with a tag."""
    return f"cp:idx:agents:tag:{encode_state(tag)}"


def agents_named(name: str) -> str:
    """Return the key of the index of agents with a name."""
    return f"cp:idx:agents:name:{encode_state(name)}"


def skills(agent_id: str) -> str:
    """Return the key of the skills that an agent has loaded."""
    return f"cp:idx:skills:{agent_id}"


def workers(workflow_id: str) -> str:
    """Return the key of the agents that were created for a run."""
    return f"cp:idx:workers:{workflow_id}"


def assigned(agent_id: str) -> str:
    """Return the key of the runs that an agent was created for."""
    return f"cp:idx:assigned:{agent_id}"


def access_key(key_id: str) -> str:
    """Return the key of the record of an API key."""
    return f"cp:idx:keys:{key_id}"


def rate(key_id: str) -> str:
    """Return the key of the rest of the rates of an API key."""
    return f"cp:idx:rate:{key_id}"


def quota(owner: str, of: Counted | None = None) -> str:
    """Return the key of what an owner holds: all bytes, or what it holds of one kind."""
    return f"cp:idx:quota:{owner}" if of is None else f"cp:idx:quota:{of}:{owner}"


def quota_parts(owner: str, workflow_id: str) -> str:
    """Return the key of what an owner holds of a run, by what it is."""
    return f"{quota(owner, 'part')}:{workflow_id}"


def data_of(workflow_id: str) -> str:
    """Return what the keys of a run's inputs, outputs and items begin with."""
    return f"dp:wf:{workflow_id}:"


def audit_share(author: str) -> str:
    """Return the key of the index of an author's entries in the audit trail."""
    return f"{AUDIT_TRAIL}:{author}"


def turn(agent_id: str) -> str:
    """Return the key of the delivery lock of an agent."""
    return f"cp:idx:turn:{agent_id}"


def gone(agent_id: str) -> str:
    """Return the key that remembers that an agent was deleted."""
    return f"cp:idx:gone:{agent_id}"


@record(frozen=True)
class RunKeys:
    """The keys of one run, each of a kind in `KEY_KINDS`. Each is made once; `keys_of` keeps those of the latest runs."""

    workflow_id: str

    @cached_property
    def meta(self) -> str:
        """Facts about the run, and its status."""
        return self.of("meta")

    @cached_property
    def definition(self) -> str:
        """The workflow as it was when the run was created."""
        return self.of("definition")

    @cached_property
    def events(self) -> str:
        """The run's history."""
        return self.of("events")

    @cached_property
    def outbox(self) -> str:
        """Outbox: the undelivered notifications."""
        return self.of("outbox")

    @cached_property
    def told(self) -> str:
        """How the agents of each state were notified."""
        return self.of("told")

    @cached_property
    def timers(self) -> str:
        """Open states by when they next need attention."""
        return self.of("timers")

    @cached_property
    def scopes(self) -> str:
        """Every Parallel and Map that was opened, by the most branches or iterations it had."""
        return self.of("scopes")

    @cached_property
    def claims(self) -> str:
        """States by the token that claimed them."""
        return self.of("claims")

    @cached_property
    def evaluating(self) -> str:
        """Marks of risky evaluations that have begun."""
        return self.of("evaluating")

    @cached_property
    def receipts(self) -> str:
        """Receipts of older requests, by state and request."""
        return self.of("receipts")

    @cached_property
    def secret(self) -> str:
        """The secret with which the run's task tokens are made."""
        return self.of("secret")

    @cached_property
    def barrier(self) -> str:
        """Small write before WAIT, which waits for replicas."""
        return self.of("barrier")

    @cached_property
    def audit(self) -> str:
        """The audit record that finalizing writes."""
        return self.of("audit")

    @cached_property
    def signals(self) -> str:
        """The signals that no state has taken yet."""
        return self.of("signals")

    @cached_property
    def talk(self) -> str:
        """The questions that were asked, and how many notes were left."""
        return self.of("talk")

    @cached_property
    def gates(self) -> str:
        """By state, what was submitted to its gates, and the verdicts."""
        return self.of("gates")

    @cached_property
    def journal(self) -> str:
        """The entries of the journal."""
        return self.of("journal")

    @cached_property
    def journalorder(self) -> str:
        """The entries of the journal in order, by list."""
        return self.of("journalorder")

    @cached_property
    def growth(self) -> str:
        """Of an open run: its open units and its sealed groups."""
        return self.of("growth")

    @cached_property
    def units(self) -> str:
        """Of an open run: its units, in the order in which they were added."""
        return self.of("units")

    @cached_property
    def usage(self) -> str:
        """Sums of what the run's work used up."""
        return self.of("usage")

    @cached_property
    def usage_parts(self) -> str:
        """The same by state, agent and model."""
        return self.of("usageparts")

    @cached_property
    def spent(self) -> str:
        """Reports of usage that are not in the books yet."""
        return self.of("spent")

    def state(self, path: str) -> str:
        """Return the key of a state's document."""
        return self.of("state", path)

    def input(self, path: str) -> str:
        """Return the key of a state's input."""
        return self.of("input", path)

    def entry(self, path: str) -> str:
        """Return the key of the record of entering a state, which exists if its input alone is not enough."""
        return self.of("entry", path)

    def output(self, path: str) -> str:
        """Return the key of the output of a state, a branch or an iteration."""
        return self.of("output", path)

    def items(self, path: str) -> str:
        """Return the key of the items of a Map."""
        return self.of("items", path)

    def results(self, path: str) -> str:
        """Return the key of the results of a Map whose ResultWriter keeps them out of its output."""
        return self.of("results", path)

    def taking(self, path: str) -> str:
        """Return the key of the mark of a claim that is about to take a state."""
        return self.of("taking", path)

    def join(self, path: str) -> str:
        """Return the key that counts the branches or iterations that ended."""
        return self.of("join", path)

    def of(self, kind: str, path: str | None = None) -> str:
        """Return the key of a kind; `path` is needed for kinds that exist per state, scope or branch."""
        how = KEY_KINDS[kind]
        key = f"{how.prefix}:wf:{self.workflow_id}:{kind}{how.suffix}"
        return key if path is None else f"{key}:{encode_state(path)}"

    def every(self, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str]) -> list[str]:
        """Return all keys of kinds that a run with these states, scopes and branches can have."""
        paths: dict[Per, tuple[str | None, ...]] = {
            "run": (None,),
            "state": tuple(states),
            "scope": tuple(scopes),
            "branch": tuple(branches),
        }
        return [self.of(name, path) for name, kind in KEY_KINDS.items() for per in kind.per for path in paths[per]]


keys_of = lru_cache(maxsize=1024)(RunKeys)
"""Return the keys of a run."""
