"""Every Redis key of dcf, and nowhere else is one made.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:wf:<id>:meta`, `:definition`, `:state:<s>` | JSON | a run's transactions | the run's retention |
| `dp:wf:<id>:input:<s>`, `:entry:<s>`, `:output:<s>`, `:audit:finalize` | JSON | a run's transactions | the run's retention |
| `dp:wf:<id>:items:<s>`, `:results:<s>` | JSON | opening a Map; joining one that has a ResultWriter | the run's retention |
| `cp:wf:<id>:join:<s>` | hash | the end of each branch or iteration: how many ended, how many failed | the run's retention |
| `cp:wf:<id>:events`, `:outbox` | stream | a run's transactions; the outbox is trimmed by acknowledging | the run's retention |
| `cp:wf:<id>:barrier` | string | a transaction that waits for replicas (`DCF_WAIT_REPLICAS`) | the run's retention |
| `cp:wf:<id>:timers` | sorted set | a run's transactions; open states by when the clock must look at them | the run's retention |
| `cp:wf:<id>:scopes` | sorted set | opening a Parallel or Map; all that ever were, by their largest size | the run's retention |
| `cp:wf:<id>:claims` | hash | claims of any state: which one a token got, as long as it holds it | the run's retention |
| `cp:idx:runs`, `cp:idx:live` | sorted set | creation (before the run's keys); `live` is swept when a run is over | for ever |
| `cp:idx:inbox:<agent>` | stream | delivery of notifications; trimmed by acknowledging | a week after the last event |
| `cp:idx:gone:<agent>` | string | deleting an agent of ours, so that it does not come back as an inbox | a week |
| `cp:idx:turn:<agent>` | string | a delivery, as long as it takes | 90 s |
| `cp:idx:sent:<agent>:<event>` | string | delivery, to recognise a repetition | a day |
| `cp:idx:agent:<agent>` | JSON | the mailbox platform: the agent's name, tags, blocks and tools | until it is deleted |
| `cp:idx:agents:tag:<tag>`, `:name:<name>` | sorted set | the mailbox platform (before the record): agents by creation time | with their agents |
| `cp:idx:skills:<agent>` | JSON | loading and unloading: what skills the agent has, and what each of them brought | until it has none |
| `cp:idx:workers:<id>` | JSON | creating and deleting the agents of a run: who was made for which state | with the run's retention, or a month |
| `cp:idx:assigned:<agent>` | sorted set | creating the agents of a run: runs that the agent was made for | a month |

On Redis Cluster the id stands in literal braces, so that one run lives in one slot. Index keys are outside the
run's slot and so never part of its transaction.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from dcf.asl.state_paths import components, path_of

_UNSAFE = re.compile(r"[:/%{}*?\[\]\x00-\x1f\x7f]")
_ENCODED = re.compile(r"%([0-9A-F]{2})")

RUNS = "cp:idx:runs"
LIVE = "cp:idx:live"


@lru_cache(maxsize=1024)
def encode_state(path: str) -> str:
    """Write a state's path as part of a key: each name in it percent-encoded where it would break one."""
    return "/".join(_UNSAFE.sub(_percent, name) for name in components(path))


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def decode_state(part: str) -> str:
    """Return the path that `encode_state` made this part from."""
    return path_of([_ENCODED.sub(lambda found: chr(int(found[1], 16)), name) for name in part.split("/")])


def inbox(agent_id: str) -> str:
    """Name the key of the events for one agent, until it acknowledges them."""
    return f"cp:idx:inbox:{agent_id}"


def sent(agent_id: str, event_id: str) -> str:
    """Name the key that remembers which message carried this event to this agent."""
    return f"cp:idx:sent:{agent_id}:{event_id}"


def agent(agent_id: str) -> str:
    """Name the key of an agent's record."""
    return f"cp:idx:agent:{agent_id}"


def agents_tagged(tag: str) -> str:
    """Name the key of the agents that carry a tag."""
    return f"cp:idx:agents:tag:{encode_state(tag)}"


def agents_named(name: str) -> str:
    """Name the key of the agents of a name."""
    return f"cp:idx:agents:name:{encode_state(name)}"


def skills(agent_id: str) -> str:
    """Name the key of what an agent has loaded."""
    return f"cp:idx:skills:{agent_id}"


def workers(workflow_id: str) -> str:
    """Name the key of the agents that were made for a run."""
    return f"cp:idx:workers:{workflow_id}"


def assigned(agent_id: str) -> str:
    """Name the key of the runs that an agent was made for."""
    return f"cp:idx:assigned:{agent_id}"


def turn(agent_id: str) -> str:
    """Name the key of whoever may write to the agent now."""
    return f"cp:idx:turn:{agent_id}"


def gone(agent_id: str) -> str:
    """Name the key that remembers that an agent was deleted."""
    return f"cp:idx:gone:{agent_id}"


@dataclass(frozen=True, slots=True)
class RunKeys:
    """The keys of one run. `clustered` puts the id in braces."""

    workflow_id: str
    clustered: bool = False
    _id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_id", f"{{{self.workflow_id}}}" if self.clustered else self.workflow_id)

    @property
    def meta(self) -> str:
        """What the run is and where it stands."""
        return f"cp:wf:{self._id}:meta"

    @property
    def definition(self) -> str:
        """The workflow as it was when the run was created."""
        return f"cp:wf:{self._id}:definition"

    @property
    def events(self) -> str:
        """The run's history."""
        return f"cp:wf:{self._id}:events"

    @property
    def outbox(self) -> str:
        """Notifications owed."""
        return f"cp:wf:{self._id}:outbox"

    @property
    def timers(self) -> str:
        """Open states by when they next need attention."""
        return f"cp:wf:{self._id}:timers"

    @property
    def scopes(self) -> str:
        """Every Parallel and Map that was opened, by the most branches or iterations it had."""
        return f"cp:wf:{self._id}:scopes"

    @property
    def claims(self) -> str:
        """States by the token that claimed them."""
        return f"cp:wf:{self._id}:claims"

    @property
    def barrier(self) -> str:
        """Written before waiting for replicas."""
        return f"cp:wf:{self._id}:barrier"

    @property
    def audit(self) -> str:
        """The final record."""
        return f"dp:wf:{self._id}:audit:finalize"

    def state(self, path: str) -> str:
        """Name the key of one state's document."""
        return f"cp:wf:{self._id}:state:{encode_state(path)}"

    def input(self, path: str) -> str:
        """Name the key of what the state was given."""
        return f"dp:wf:{self._id}:input:{encode_state(path)}"

    def entry(self, path: str) -> str:
        """Name the key of what entering the state fixed, where its input does not say it all."""
        return f"dp:wf:{self._id}:entry:{encode_state(path)}"

    def output(self, path: str) -> str:
        """Name the key of what the state's worker wrote."""
        return f"dp:wf:{self._id}:output:{encode_state(path)}"

    def items(self, path: str) -> str:
        """Name the key of the items of a Map."""
        return f"dp:wf:{self._id}:items:{encode_state(path)}"

    def results(self, path: str) -> str:
        """Name the key of the results of a Map whose ResultWriter keeps them out of its output."""
        return f"dp:wf:{self._id}:results:{encode_state(path)}"

    def join(self, path: str) -> str:
        """Name the key that counts the branches or iterations that ended."""
        return f"cp:wf:{self._id}:join:{encode_state(path)}"
