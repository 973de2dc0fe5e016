"""Shows an agent its skills in a block of its context. The block is a copy of the store's record and may lag behind.

After writing the block, each writer checks whether the record has changed meanwhile. So whatever the order of several
writers, the last one leaves the newest contents.
"""

from dataclasses import replace

from dcf.adapters.platforms import Platforms
from dcf.errors import DcfError, PlatformUnavailable
from dcf.values.json_text import dump
from dcf.workforce.skills.holdings import Holdings, SkillPhase
from dcf.workforce.skills.holdings_documents import HoldingsDocuments
from dcf.workforce.skills.removal import unavailable_warning


class Mirror:
    """Keeps one block of an agent equal to the record of its skills."""

    def __init__(self, platforms: Platforms, documents: HoldingsDocuments, label: str) -> None:
        self._platforms = platforms
        self._documents = documents
        self._label = label

    def show(self, agent_id: str) -> tuple[str, ...]:
        """Write the block if it is out of date. Return warnings if the platform could not be reached."""
        try:
            wrote = False
            while True:
                holdings = self._documents.read(agent_id)
                if holdings.mirrored == holdings.revision:
                    break
                self._write(agent_id, holdings)
                wrote = True
            if wrote:
                self._platforms.equipper_of(agent_id).apply(agent_id)
        except PlatformUnavailable as error:
            return (unavailable_warning(error),)
        except DcfError as error:
            return (f"The block that lists the agent's skills could not be written: {error.message}",)
        return ()

    def _write(self, agent_id: str, holdings: Holdings) -> None:
        shown = {
            name: {
                "skillName": skill.name,
                "skillVersion": skill.version,
                "memoryBlockIds": [] if skill.directives_id is None else [skill.directives_id],
                "toolIds": skill.tool_ids,
                "dataSourceBlockIds": skill.data_ids,
            }
            for name, skill in holdings.skills.items()
            if skill.phase is SkillPhase.LOADED
        }
        mirror_id, equipper = holdings.mirror_id, self._platforms.equipper_of(agent_id)
        if shown:
            mirror_id = equipper.add_text(agent_id, self._label, dump(shown))
        elif mirror_id is not None:
            equipper.remove_text(agent_id, mirror_id)
            mirror_id = None
        self._documents.transact(agent_id, lambda now, _: (_marked(now, holdings.revision, mirror_id), None))


def _marked(holdings: Holdings, revision: int, mirror_id: str | None) -> Holdings:
    """Record which revision the agent was shown, even if there is a newer one."""
    return replace(holdings, mirrored=revision, mirror_id=mirror_id)
