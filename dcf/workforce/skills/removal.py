"""Removes from an agent what one skill brought: for unloading, for undoing a load, and for repair after a crash."""

from dcf.adapters.platforms import Platforms
from dcf.errors import AgentUnknown, DcfError, Forbidden, PlatformUnavailable, ToolUnavailable
from dcf.skills.manifest import ToolNeed
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from dcf.values.text_pieces import clip
from dcf.workforce.skills import holdings as decisions
from dcf.workforce.skills.holdings import HeldTool, Holding
from dcf.workforce.skills.holdings_documents import HoldingsDocuments


class Removal:
    """Carries out a recorded removal, then deletes the record of the skill."""

    def __init__(self, platforms: Platforms, documents: HoldingsDocuments, policy: Policy, registry: Registry) -> None:
        self._platforms = platforms
        self._documents = documents
        self._policy = policy
        self._registry = registry

    def carry_out(self, agent_id: str, entry: Holding) -> tuple[str, ...]:
        """Remove everything and forget the skill. Return warnings about what could not be removed.

        Raise PlatformUnavailable when the platform is down: the record stays, and the next call continues.
        """
        warnings: list[str] = []
        try:
            if entry.before is not None:
                self._remove(agent_id, entry, entry.before, warnings)
        except AgentUnknown:
            self._documents.forget(agent_id)
            return tuple(warnings)
        except DcfError:
            self._documents.transact(
                agent_id, lambda all_, _: (decisions.give_up_removal(all_, entry.manifest_id, entry.token), None)
            )
            raise
        self._documents.transact(
            agent_id, lambda all_, _: (decisions.end_removal(all_, entry.manifest_id, entry.token), None)
        )
        return tuple(warnings)

    def _remove(self, agent_id: str, entry: Holding, before: tuple[str, ...], warnings: list[str]) -> None:
        for name in entry.detach:
            try:
                self._detach(agent_id, entry.name, name, entry.tools[name], before)
            except (ToolUnavailable, Forbidden):
                warnings.append(f"The tool '{clip(name)}' could not be looked up, so it may still be attached.")
        equipper = self._platforms.equipper_of(agent_id)
        for label, block_id in reversed(list(entry.texts.items())):
            # A block without a known id is found by its label: adding the same label replaces it.
            known = block_id if block_id is not None else equipper.add_text(agent_id, label, "")
            equipper.remove_text(agent_id, known)

    def _detach(self, agent_id: str, skill: str, name: str, tool: HeldTool, before: tuple[str, ...]) -> None:
        tool_id, equipper = tool.tool_id, self._platforms.equipper_of(agent_id)
        if tool_id is None:
            need = ToolNeed(name=name, description="", definition=tool.definition)
            tool_id = equipper.attach_tool(agent_id, self._policy.wish(skill, need, self._registry))
            if tool_id in before:
                return
        equipper.detach_tool(agent_id, tool_id)


def unavailable_warning(error: PlatformUnavailable) -> str:
    """Return the warning that the agent does not see a change yet."""
    return f"The agent does not see the change yet: {error.message}"
