"""The offers of capabilities to the language: their types, and the tables of the installed ones. Pure.

The language meets a capability only as a row of these tables. `features/installed_language.py` fills
them before the first workflow is read: a table that is not filled raises.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.asl.resources import Resource
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.gates import Gate
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.tables import Tables

Gates: TypeAlias = tuple[Gate, ...]


@record(frozen=True, slots=True, kw_only=True)
class TaskField:
    """How the gates of a Task are read.

    `of_task` reads the field of a Task and reports what is wrong with it. `of_run` reads the gates that a run was
    started with, as they were stored; they were checked before.
    """

    of_task: Callable[[DefinitionFields, Resource], Gates]
    of_run: Callable[[Json], Gates]


class Language(Tables):
    """The tables of what is installed."""

    filled_by = "dcf.features.installed_language"

    gates: TaskField

    def install(self, *, gates: TaskField) -> None:
        """Fill the tables."""
        self.gates = gates


LANGUAGE: Final = Language()
