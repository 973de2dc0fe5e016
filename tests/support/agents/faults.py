"""An agent platform between the code under test and a real one: it notes every call and fails where it is told to."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dcf.ports import AgentFound, AgentWish, Deliverer, Delivery, Equipper, Provisioner, ToolWish
from dcf.values.json_text import Json


class WholePlatform(Deliverer, Provisioner, Equipper, Protocol):
    """A platform with all ports in one object."""

    kind: str

    def lift_return_limits(self, agent_id: str) -> int:
        """Let the agent's tools return more text."""
        ...


class Died(BaseException):
    """The process is gone in the middle of a call: nothing cleans up after it."""


@dataclass
class Watched:
    """`fail[call]` is asked before that call is passed on, with its number; what it returns is raised."""

    platform: WholePlatform
    fail: dict[str, Callable[[int], BaseException | None]] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    after: dict[str, Callable[[int], BaseException | None]] = field(default_factory=dict)
    kind: str = field(init=False)
    is_remote: bool = False
    tools_at_once: bool = True

    def __post_init__(self) -> None:
        self.kind = self.platform.kind
        self._lock = threading.Lock()

    def _note(self, call: str) -> int:
        with self._lock:
            self.calls[call] += 1
            number = self.calls[call]
        self._raise(self.fail, call, number)
        return number

    def _raise(self, faults: dict[str, Callable[[int], BaseException | None]], call: str, number: int) -> None:
        error = faults[call](number) if call in faults else None
        if error is not None:
            raise error

    @property
    def total(self) -> int:
        return sum(self.calls.values())

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        self._note("deliver")
        return self.platform.deliver(agent_id, event_id, event)

    def create_agent(self, wish: AgentWish) -> str:
        number = self._note("create_agent")
        made = self.platform.create_agent(wish)
        self._raise(self.after, "create_agent", number)
        return made

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        self._note("find_agents")
        return self.platform.find_agents(tags, name)

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        self._note("retrieve_agent")
        return self.platform.retrieve_agent(agent_id)

    def delete_agent(self, agent_id: str) -> bool:
        self._note("delete_agent")
        return self.platform.delete_agent(agent_id)

    def add_text(self, agent_id: str, label: str, value: str) -> str:
        number = self._note("add_text")
        made = self.platform.add_text(agent_id, label, value)
        self._raise(self.after, "add_text", number)
        return made

    def remove_text(self, agent_id: str, block_id: str) -> None:
        self._note("remove_text")
        self.platform.remove_text(agent_id, block_id)

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        number = self._note("attach_tool")
        made = self.platform.attach_tool(agent_id, wish)
        self._raise(self.after, "attach_tool", number)
        return made

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        self._note("detach_tool")
        self.platform.detach_tool(agent_id, tool_id)

    def tools_of(self, agent_id: str) -> tuple[str, ...]:
        self._note("tools_of")
        return self.platform.tools_of(agent_id)

    def apply(self, agent_id: str) -> None:
        self._note("apply")
        self.platform.apply(agent_id)

    def lift_return_limits(self, agent_id: str) -> int:
        self._note("lift_return_limits")
        return self.platform.lift_return_limits(agent_id)


def once(error: BaseException, at: int = 1) -> Callable[[int], BaseException | None]:
    """Fail the call of this number."""
    return lambda number: error if number == at else None


def always(error: BaseException) -> Callable[[int], BaseException | None]:
    """Fail every call."""
    return lambda _: error
