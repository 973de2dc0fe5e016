"""The block that shows an agent its skills. The store is the truth; this is its mirror, and may lag behind it.

Whoever changed something writes the block and then looks whether it is still right, so the last writer always leaves
the newest contents, in whatever order several of them write.
"""

from dataclasses import replace

from dcf.errors import DcfError, PlatformUnavailable
from dcf.ports import AgentPlatform
from dcf.values.json_text import dump
from dcf.workforce.skills.holdings import Holdings, SkillPhase
from dcf.workforce.skills.holdings_documents import HoldingsDocuments
from dcf.workforce.skills.removal import unavailable_warning


class Mirror:
    """Keeps one block of an agent equal to what the store says."""

    def __init__(self, platform: AgentPlatform, documents: HoldingsDocuments, label: str) -> None:
        self._platform = platform
        self._documents = documents
        self._label = label

    def show(self, agent_id: str) -> tuple[str, ...]:
        """Write the block where it is out of date; warnings when the platform cannot be reached for it."""
        try:
            wrote = False
            while True:
                holdings = self._documents.read(agent_id)
                if holdings.mirrored == holdings.revision:
                    break
                self._write(agent_id, holdings)
                wrote = True
            if wrote:
                self._platform.refresh(agent_id)
        except PlatformUnavailable as error:
            return (unavailable_warning(error),)
        except DcfError as error:
            return (f"The block that lists the agent's skills could not be written: {error.message}",)
        return ()

    def _write(self, agent_id: str, holdings: Holdings) -> None:
        shown = {
            name: {
                "skillName": one.name,
                "skillVersion": one.version,
                "memoryBlockIds": [] if one.directives_id is None else [one.directives_id],
                "toolIds": one.tool_ids,
                "dataSourceBlockIds": one.data_ids,
            }
            for name, one in holdings.skills.items()
            if one.phase is SkillPhase.LOADED
        }
        mirror_id = holdings.mirror_id
        if shown:
            mirror_id = self._platform.add_block(agent_id, self._label, dump(shown))
        elif mirror_id is not None:
            self._platform.remove_block(agent_id, mirror_id)
            mirror_id = None
        self._documents.transact(agent_id, lambda now, _: (_marked(now, holdings.revision, mirror_id), None))


def _marked(holdings: Holdings, revision: int, mirror_id: str | None) -> Holdings:
    """Note what the agent was shown, even when there is something newer to show already."""
    return replace(holdings, mirrored=revision, mirror_id=mirror_id)
