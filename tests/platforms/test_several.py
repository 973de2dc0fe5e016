"""The agents of one run, made on several platforms: by what the workflow says of each, else by the settings."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dcf.adapters.mailbox import Mailbox, mailbox_platform
from dcf.adapters.platforms import Platforms
from dcf.errors import AgentUnknown, InvalidArgument, PlatformUnavailable
from dcf.ports import MAILBOX, AgentFound, AgentWish, Platform
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from dcf.store.lists.assignments import AssignmentIndex
from dcf.workflows.validation.document import validate_document
from dcf.workforce.crew.records import CrewWish, MadeWorkers
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.templates import read_staffing
from dcf.workforce.crew.workers import Workers
from dcf.workforce.skills.equipment import Equipment, Limits
from dcf.workforce.skills.holdings_documents import HoldingsDocuments
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World


class Second:
    """A platform in the test's hand: agents by id, each with the wish that it was made from."""

    is_remote = True

    def __init__(self) -> None:
        self.agents: dict[str, AgentWish] = {}
        self.is_away = False

    def deliver(self, *_: object) -> Any:
        raise AssertionError("no agent is notified here")

    def create_agent(self, wish: AgentWish) -> str:
        self._look()
        agent = f"second-{secrets.token_hex(6)}"
        self.agents[agent] = wish
        return agent

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        self._look()
        return [
            AgentFound(agent_id=agent, name=wish.name, tags=wish.tags)
            for agent, wish in self.agents.items()
            if set(tags) <= set(wish.tags) and name in {None, wish.name}
        ]

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        self._look()
        if agent_id not in self.agents:
            raise AgentUnknown(f"There is no agent '{agent_id}'.")
        return AgentFound(agent_id=agent_id, name=self.agents[agent_id].name, tags=self.agents[agent_id].tags)

    def delete_agent(self, agent_id: str) -> bool:
        self._look()
        return self.agents.pop(agent_id, None) is not None

    def _look(self) -> None:
        if self.is_away:
            raise PlatformUnavailable("The second platform does not answer.")


PRICING = {
    "agent_name": "B",
    "platform": "second",
    "instructions": "You price orders.",
    "model": "openai/gpt-4o",
    "mcp_servers": ["dcf"],
    "tags": ["team:x"],
}


def document(*agents: Mapping[str, Any]) -> dict[str, Any]:
    head = {"workflow_id": "w", "version": "1.0.0", "agents": list(agents)}
    return head | chain("A", "B", "C")


def workers(world: World, second: Second, default: str = MAILBOX) -> Workers:
    other = Platform(kind="second", deliverer=second, provisioner=second)
    mailbox = mailbox_platform(Mailbox(world.inbox, world.records))
    platforms = Platforms([mailbox, other], world.records, default)
    holdings, registry = HoldingsDocuments(world.documents), Registry(path=Path("none.json"))
    equipment = Equipment(platforms, holdings, Policy(), registry, Limits(), "dcf_active_skills")
    rosters, assignments = RosterDocuments(world.documents), AssignmentIndex(world.connections)
    return Workers(platforms, rosters, world.store, assignments, equipment)


def staffed(world: World, crew: Workers, request: Mapping[str, Any], run: str, place: Path) -> MadeWorkers:
    staffing = read_staffing(dict(request), import_dirs=(place,), agents_dir=place)
    return crew.create(CrewWish(workflow_id=run, staffing=staffing))


def kinds(world: World, made: MadeWorkers) -> dict[str, str]:
    known = world.records.platforms_of(tuple(made.agents.values()))
    return {state: known[agent] for state, agent in made.agents.items()}


def test_each_agent_is_made_on_the_platform_that_the_workflow_names_for_it(real: World, tmp_path: Path) -> None:
    second, run = Second(), real.create(chain("A", "B", "C"))
    made = staffed(real, workers(real, second), document(PRICING), run, tmp_path)
    assert kinds(real, made) == {"A": "mailbox", "B": "second", "C": "mailbox"}
    (wish,) = second.agents.values()
    assert (wish.instructions, wish.model, wish.mcp_servers) == ("You price orders.", "openai/gpt-4o", ("dcf",))
    assert {"team:x", f"wf:{run}", "state:B", "role:worker"} <= set(wish.tags)
    assert real.meta(run)["agents"]["B"] in second.agents


def test_what_names_no_platform_is_made_where_the_settings_say(real: World, tmp_path: Path) -> None:
    """With Letta configured created workers are Letta's, unless the entry of `agents` says otherwise."""
    second, run = Second(), real.create(chain("A", "B", "C"))
    expected = document({"agent_name": "C", "platform": "mailbox"})
    made = staffed(real, workers(real, second, "second"), expected, run, tmp_path)
    assert kinds(real, made) == {"A": "second", "B": "second", "C": "mailbox"}


def test_a_document_that_names_platforms_is_valid(tmp_path: Path) -> None:
    def problems(entry: Mapping[str, Any]) -> list[str]:
        validation = validate_document(document(entry), imports_base_dir=tmp_path, skills_base_dir=tmp_path)
        return [problem.path for problem in validation.problems if problem.path.startswith("/agents")]

    assert problems(PRICING) == []
    assert problems({**PRICING, "platform": "No!"}) == ["/agents/0/platform"]


def test_tasks_share_an_entry_of_agents_by_its_name(real: World, tmp_path: Path) -> None:
    """As they share an agent of an imported file."""
    binding = {"agent_template_ref": {"name": "pricer"}}
    states = {"A": task("B", AgentBinding=binding), "B": task(AgentBinding=binding)}
    request = {**document({**PRICING, "agent_name": "pricer"}), **workflow(states)}
    verdict = validate_document(request, imports_base_dir=tmp_path, skills_base_dir=tmp_path)
    assert verdict.problems == ()
    second, run = Second(), real.create(request)
    made = staffed(real, workers(real, second), request, run, tmp_path)
    assert kinds(real, made) == {"A": "second", "B": "second"}
    assert {wish.instructions for wish in second.agents.values()} == {"You price orders."}
    lost = {**request, "agents": [{"agent_name": "pricer", "platform": "second"}]}
    validation = validate_document(lost, imports_base_dir=tmp_path, skills_base_dir=tmp_path)
    assert {problem.code for problem in validation.problems} == {"unresolved_agent"}, (
        "an entry without a description makes nobody"
    )


def test_a_platform_that_is_not_here_is_named_and_nothing_is_left_over(real: World, tmp_path: Path) -> None:
    second, run = Second(), real.create(chain("A", "B", "C"))
    crew = workers(real, second)
    made = staffed(real, crew, document(PRICING, {**PRICING, "agent_name": "C", "platform": "third"}), run, tmp_path)
    assert made.failure is not None
    assert "no agent platform 'third'" in made.failure.message
    assert second.agents == {}
    assert crew.delete_workers(run) == []


def test_agents_are_deleted_wherever_they_are_and_again_where_that_failed(real: World, tmp_path: Path) -> None:
    second, run = Second(), real.create(chain("A", "B", "C"))
    crew = workers(real, second)
    made = staffed(real, crew, document(PRICING), run, tmp_path)
    second.is_away = True
    assert {dismissed.state: dismissed.deleted for dismissed in crew.delete_workers(run)} == {
        "A": True,
        "B": False,
        "C": True,
    }
    second.is_away = False
    assert [(dismissed.state, dismissed.deleted) for dismissed in crew.delete_workers(run)] == [("B", True)]
    assert second.agents == {}
    assert real.records.platforms_of(tuple(made.agents.values())) == {}


def test_an_agent_that_was_deleted_by_hand_is_made_again_on_its_platform(real: World, tmp_path: Path) -> None:
    second, run = Second(), real.create(chain("A", "B", "C"))
    crew = workers(real, second)
    first = staffed(real, crew, document(PRICING), run, tmp_path)
    second.agents.clear()
    again = staffed(real, crew, document(PRICING), run, tmp_path)
    assert [item.state for item in again.created] == ["B"]
    assert again.agents["B"] != first.agents["B"]
    assert (again.agents["A"], kinds(real, again)["B"]) == (first.agents["A"], "second")
    assert real.records.platforms_of((first.agents["B"],)) == {}


@rows("name", ["worker of two", "nobody"])
def test_an_agent_is_found_by_name_on_whatever_platform_it_is(real: World, name: str) -> None:
    second = Second()
    crew = workers(real, second)
    agent = second.create_agent(AgentWish(name="worker of two"))
    if name == "worker of two":
        assert crew.resolve(name) == agent
        return
    with pytest.raises(AgentUnknown, match="There is no agent named 'nobody'"):
        crew.resolve(name)


def mapping(copies: Any) -> dict[str, Any]:
    """A Map over three items whose Task has this number of agents."""
    price = task(AgentBinding={"lifecycle": {"mode": "ephemeral", "copies": copies}})
    return {"workflow_id": "w", "version": "1.0.0", **workflow({"Each": each({"Price": price})})}


def test_a_map_is_served_by_as_many_agents_as_its_task_asks_for(real: World, tmp_path: Path) -> None:
    """One agent did one item after another."""
    second, run = Second(), real.create(mapping(3), run_input=[1, 2, 3])
    crew = workers(real, second)
    made = staffed(real, crew, mapping(3), run, tmp_path)
    pool = [item.agent_id for item in made.created]
    assert ([item.state for item in made.created], len(set(pool))) == (["Price"] * 3, 3)
    assert real.meta(run)["agents"]["Price"] == pool
    real.plane.kick_off(run, "initial")
    real.notifications.pulse()
    target_stateses = {agent: [event["target_state"] for event in real.messages(agent)] for agent in pool}
    items = [f"Each/{n}/Price" for n in range(3)]
    assert {agent: sorted(states) for agent, states in target_stateses.items()} == dict.fromkeys(pool, items)
    again = staffed(real, crew, mapping(3), run, tmp_path)
    assert (again.created, [item.agent_id for item in again.existing]) == ((), pool)
    assert len(crew.delete_workers(run)) == 3


@rows("copies", [0, 51, True, "3", 1.5])
def test_a_number_of_agents_that_cannot_be_made_is_refused(copies: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="State 'Price' wants a number of agents"):
        read_staffing(mapping(copies), import_dirs=(tmp_path,), agents_dir=tmp_path)
