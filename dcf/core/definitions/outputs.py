"""Checks outputs of a Task against its OutputSchema, and names of failures against its Errors. Pure.

An output that does not match is refused, and nothing is written: its author keeps the lease or the task token, and can
correct it. The name of a failure is never refused: a failure under an unknown name is better than an unreported one.
"""

import difflib
from typing import Final

from dcf.asl.json_schema.check import MAX_MISFITS, Misfit, misfits
from dcf.asl.state_paths import name_of
from dcf.asl.syntax.briefs import ANY_TASK
from dcf.core.definitions.model import Definition
from dcf.core.documents.model import StateDoc
from dcf.core.documents.refusals import OUTPUT_INVALID
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

_MOST_KEPT: Final = 32
_kept: dict[int, tuple[Json, Json, tuple[Misfit, ...]]] = {}
"""Outputs that were checked a moment ago, by identity: a transaction that is tried again does not check them again."""


def output_refusal(definition: Definition, state: str, output: Json, doc: StateDoc, hint: str) -> Refusal | None:
    """Return the refusal of an output that does not match its Task's OutputSchema; None if it may be taken."""
    schema = definition.output_schemas.get(name_of(state))
    if schema is None:
        return None
    checked = _checked(schema, output)
    if not checked:
        return None
    first, more = checked[0], len(checked) - 1
    return OUTPUT_INVALID.refuse(
        state=state,
        doc=doc,
        place=f"at {first.pointer} " if first.pointer else "",
        text=first.message,
        others=f" ({more}{' or more' if len(checked) == MAX_MISFITS else ' more'})" if more else "",
        advice=hint,
        problems=tuple(misfit.as_json() for misfit in checked),
    )


def unlisted(definition: Definition, state: str, error: str | None) -> str | None:
    """Return a note about a failure whose name is not among the Errors of its Task; None if there is nothing to say."""
    names = definition.errors.get(name_of(state))
    if names is None or error is None or error in names or error.startswith(ANY_TASK):
        return None
    near = difflib.get_close_matches(error, names, 1)
    meant = f"Did you mean '{near[0]}'? " if near else ""
    return (
        f"'{clip(error)}' is not among the Errors of '{state}' ({', '.join(names) or 'none'}). {meant}It was recorded."
    )


def _checked(schema: Json, output: Json) -> tuple[Misfit, ...]:
    known = _kept.get(id(output))
    if known is not None and known[0] is output and known[1] is schema:
        return known[2]
    misfits_of_output = misfits(schema, output)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[id(output)] = (output, schema, misfits_of_output)
    return misfits_of_output


TO_HOLDER: Final = (
    "Correct the `problems` and send the whole output again with the same `lease_token`; the lease is still yours. "
    "If you cannot, send `new_status` failed with an `error_name`."
)
TO_CALLBACK: Final = "Correct the `problems` and send the whole output again with the same task token."
TO_PERSON: Final = "Answer so that the whole output of the task matches; `problems` lists what does not."
TO_CORRECT: Final = "Correct the `problems` and send the whole output again; the earlier result is still there."
TO_OPERATOR: Final = (
    "Correct what `problems` lists; force takes the output as it is, and what follows must cope with it."
)
