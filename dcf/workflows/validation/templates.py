"""The directory of agent templates, where an agent is looked up that no document describes and no import has.

Validation and create_worker_agents look here in the same way, so that what is valid can be created. A reference names
a file of the directory, never a path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dcf.core.documents.stored_values import object_of, objects_of
from dcf.values.json_text import Json
from dcf.workflows.validation.files import ImportReader, Unreadable

EMBEDDED: Final = "af_v2_entities"
"""The field of a document with agents of its own, in the form of an agent file. It is searched first."""

SUFFIX: Final = ".af"


@dataclass(slots=True, kw_only=True)
class TemplateDirectory:
    """The agent files of a directory, each read at most once."""

    base: Path
    suffix: str = SUFFIX
    _bundles: dict[str, Mapping[str, Json] | None] = field(default_factory=dict)

    def bundle(self, reference: str) -> Mapping[str, Json] | None:
        """Return the file of this name if it has agents; None otherwise."""
        if not reference or "/" in reference or "\\" in reference or reference.startswith("."):
            return None
        if reference not in self._bundles:
            self._bundles[reference] = self._read(reference)
        return self._bundles[reference]

    def _read(self, reference: str) -> Mapping[str, Json] | None:
        try:
            content, _ = ImportReader(base=self.base).read(f"./{reference}{self.suffix}", None)
        except Unreadable:
            return None
        return content if objects_of(object_of(content).get("agents")) else None
