"""Records of mailbox agents: found by index, never by scanning; any number of writers."""

import secrets

from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord, AgentRecords
from dcf.store.lists.assignments import AssignmentIndex
from dcf.workforce.crew.assigning import assign
from tests.support.racing import race
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


def name() -> str:
    return f"agent-{secrets.token_hex(6)}"


def test_a_record_is_written_once_and_read_back(world: World) -> None:
    agent, tag = name(), f"wf:{name()}"
    record = AgentRecord(
        agent_id=agent, name="Ada: [x]*?", tags=(tag, "state:ü/é"), blocks={"b": {"label": "l", "value": "v"}}
    )
    world.records.create(record)
    world.records.create(AgentRecord(agent_id=agent, name="another"))
    (result,) = world.records.find((tag, "state:ü/é"), "Ada: [x]*?")
    assert (result.name, result.tags, result.blocks) == (record.name, record.tags, record.blocks)
    assert result.created_at > 0


def test_parts_are_put_and_removed_one_by_one(world: World) -> None:
    agent = name()
    world.records.create(AgentRecord(agent_id=agent, name="a"))
    assert world.records.put(agent, "tools", "tool-1", {"name": 'quo"te'})
    assert world.records.put(agent, "tools", "tool-2", {"name": ""})
    world.records.remove(agent, "tools", "tool-1")
    world.records.remove(agent, "tools", "tool-1")
    record = world.records.get(agent)
    assert record is not None
    assert dict(record.tools) == {"tool-2": {"name": ""}}
    assert not world.records.put(name(), "tools", "tool-1", {})


def test_an_agent_with_an_inbox_alone_exists_and_gets_a_record_when_it_needs_one(world: World) -> None:
    agent = name()
    assert world.records.get(agent) is None
    world.inbox.put(agent, "event-1", {"workflow_id": "w"})
    record = world.records.get(agent)
    assert record is not None
    assert (record.name, record.created_at) == (agent, 0)
    assert world.records.put(agent, "blocks", "block-1", {"label": "l", "value": "v"})
    assert [item.agent_id for item in world.records.find((), agent)] == [agent]
    assert world.records.delete(agent)
    assert world.records.get(agent) is None


def test_eight_writers_of_one_record_lose_nothing(real: World) -> None:
    agent = name()
    real.inbox.put(agent, "event-1", {})
    assert all(race(8, lambda at: real.records.put(agent, "blocks", f"block-{at}", {"label": str(at), "value": ""})))
    record = real.records.get(agent)
    assert record is not None
    assert len(record.blocks) == 8


def test_a_stale_index_entry_is_harmless(world: World) -> None:
    agent, tag = name(), f"wf:{name()}"
    world.records.create(AgentRecord(agent_id=agent, name="a", tags=(tag,)))
    world.ask("DEL", keys.agent(agent))
    assert world.records.find((tag,), None) == []


@rows("others", [0, 40])
def test_finding_costs_the_same_however_many_agents_there_are(real: World, counting: CountingPool, others: int) -> None:
    records, tag = AgentRecords(Connections(counting)), f"wf:{name()}"
    for _ in range(others):
        real.records.create(AgentRecord(agent_id=name(), name="x", tags=("role:worker",)))
    real.records.create(AgentRecord(agent_id=name(), name="y", tags=(tag, "role:worker")))
    with counting.counted() as packets:
        assert len(records.find((tag, "role:worker"), None)) == 1
    assert packets == [["ZCARD", "ZCARD"], ["ZRANGE"], [SENT.read_record]]


def test_the_runs_of_an_agent_are_those_it_was_made_for_and_those_it_was_told_of(world: World) -> None:
    index, agent = AssignmentIndex(world.connections), name()
    assert index.runs_of(agent) == []
    assign(world.store, "run-1", {"A": (agent,)}, ())
    world.inbox.put(agent, "event-1", {"workflow_id": "run-2"})
    world.inbox.put(agent, "event-2", {"type": "other"})
    assert index.runs_of(agent) == ["run-1", "run-2"]


def test_assignments_are_read_for_several_runs_at_once(real: World) -> None:
    index, agent = AssignmentIndex(real.connections), name()
    run = real.create(chain("A", "B"), agents={"A": (agent, "other"), "B": "third"})
    (result,) = index.read((run, "no-such-run"))
    assert (result.workflow_id, result.status, result.of(agent), result.of("third")) == (run, "running", ("A",), ("B",))
    assert run in index.newest_live()


def test_an_agent_that_was_deleted_does_not_come_back_as_an_inbox(world: World) -> None:
    records, agent = AgentRecords(world.connections), world.name()
    records.create(AgentRecord(agent_id=agent, name=agent))
    assert records.delete(agent)
    world.inbox.put(agent, "e1", {"workflow_id": "r"})
    assert records.get(agent) is None
    assert records.is_gone(agent)
    records.create(AgentRecord(agent_id=agent, name=agent))
    assert records.get(agent) is not None
    assert not records.is_gone(agent)


def test_an_agent_that_nobody_made_is_there_again_with_its_inbox(world: World) -> None:
    records, agent = AgentRecords(world.connections), world.name()
    world.inbox.put(agent, "e1", {"workflow_id": "r"})
    assert records.delete(agent)
    world.inbox.put(agent, "e2", {"workflow_id": "r"})
    assert records.get(agent) is not None
