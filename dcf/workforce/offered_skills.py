"""The skills of a state as an agent reads them that gets its work in one message, and can load nothing."""

from dcf.core.definitions.model import Definition
from dcf.values.json_text import Json
from dcf.workforce.assignment import Desk, SkillAtHand
from dcf.workforce.skills.equipment import Equipment


class OfferedSkills:
    """Tells skills with all their texts."""

    def __init__(self, desk: Desk, equipment: Equipment) -> None:
        self._desk = desk
        self._equipment = equipment

    def __call__(self, definition: Definition, path: str) -> list[Json]:
        """Return the skills of a state of this workflow."""
        return [self._as_json(skill) for skill in self._desk.skills_of(definition, path, None)]

    def _as_json(self, skill: SkillAtHand) -> dict[str, Json]:
        if skill.manifest is None:
            return {"manifestId": skill.reference, "problem": skill.problem}
        shown = {"manifestId": skill.manifest.manifest_id, "name": skill.manifest.name}
        return shown | self._equipment.told(skill.manifest)
