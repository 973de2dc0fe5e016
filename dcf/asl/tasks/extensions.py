"""The offers of capabilities to the language: their types, and the tables of the installed ones. Pure.

The language meets a capability only as a row of these tables. `features/installed_language.py` fills
them before the first workflow is read: a table that is not filled raises.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from dcf.asl.expressions.templates import Template
from dcf.asl.resources import Kind, Resource
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.gates import Gate
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.tables import Tables

Gates: TypeAlias = tuple[Gate, ...]


@record(frozen=True, slots=True, kw_only=True)
class TaskField:
    """A field of a Task that a capability reads.

    `read` is called for a Task that has the field. It reports what is wrong with it, and returns the value for
    `TaskBrief.fields`.
    """

    name: str
    read: Callable[[DefinitionFields, Resource], object]


@record(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    """A kind of Resource (`asl/resources.py`) whose Tasks have an input with a meaning of its own.

    `check` reports the flaws of the Parameters or Arguments as far as they are written out. `entered` reads the input
    when a Task is entered (`OpenTask.asks`); it raises StateError, which fails the state, for one with flaws.
    """

    kind: Kind
    check: Callable[[DefinitionFields, Template | None], None]
    entered: Callable[[Json], object]


@record(frozen=True, slots=True, kw_only=True)
class LanguageOffer:
    """The offers of a capability to the language.

    `gates_of_run` reads the gates that a run was started with, as they were stored: they were checked before.
    """

    fields: tuple[TaskField, ...] = ()
    resources: tuple[ResourceKind, ...] = ()
    gates_of_run: Callable[[Json], Gates] | None = None


class Language(Tables):
    """The tables of installed extensions of Tasks and runs."""

    filled_by = "dcf.features.installed_language"

    fields: Mapping[str, TaskField]
    resources: Mapping[Kind, ResourceKind]
    gates_of_run: Callable[[Json], Gates] | None
    """None: no capability reads gates."""

    def install(self, offers: Iterable[LanguageOffer]) -> None:
        """Fill the tables. Raise ValueError if two capabilities offer the same field or kind of Resource."""
        installed = tuple(offers)
        names = tuple(field for offer in installed for field in offer.fields)
        kinds = tuple(resource for offer in installed for resource in offer.resources)
        self.fields = {field.name: field for field in names}
        self.resources = {resource.kind: resource for resource in kinds}
        self.gates_of_run = next((offer.gates_of_run for offer in installed if offer.gates_of_run is not None), None)
        if len(self.fields) < len(names):
            raise ValueError("Two capabilities offer the same field of a Task.")
        if len(self.resources) < len(kinds):
            raise ValueError("Two capabilities offer the same kind of Resource.")


LANGUAGE: Final = Language()
