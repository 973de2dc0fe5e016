"""The function that confined children call: it evaluates what a request of `confinement` asks for. Pure."""

from collections.abc import Callable, Mapping
from typing import Final

from dcf.asl.expressions import searches
from dcf.asl.expressions.confinement import EXPRESSION, SEARCH
from dcf.asl.jsonata import evaluation as jsonata_evaluation

_ANSWERS: Final[Mapping[bytes, Callable[[bytes], bytes]]] = {
    EXPRESSION: jsonata_evaluation.answer,
    SEARCH: searches.answer,
}


def answer(request: bytes) -> bytes:
    """Answer a request, whose first byte says what it asks for."""
    return _ANSWERS[request[:1]](request[1:])
