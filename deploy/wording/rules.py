"""Judges passages: words to replace, long sentences, chains of clauses, vague names. Reads no files but the words."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from deploy.wording.passages import Passage

_DATA: Final = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_LIMITS: Final = _DATA["limits"]
_VAGUE: Final = frozenset(_DATA["names"]["vague"])
_ODD: Final = re.compile(rf"(?:^|_)(?:{'|'.join(_DATA['names']['odd'])})(?:_|$)")
_WORDS: Final = [
    (re.compile(rf"\b(?:{word})(?!\w)", re.IGNORECASE), instead)
    for instead, several in _DATA["words"].items()
    for word in several
]
_CLAUSE: Final = re.compile(
    r"^(?:Who|Whoever|What|Whose)\b(?!'s)"
    r"(?! (?:is|are|does|do|about|to|can|if|makes|matters|happens|you|we|follows) )[^?]*[.;:]$"
)
_RELATIVE: Final = re.compile(r"\b(?:that|which|whom?|whose|what(?:ever)?|whoever|where)\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"\b(?:its?|itself|they|them|their|these|those|ones?|others)\b", re.IGNORECASE)
_ABBREVIATION: Final = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|ca|No|St|Dr|Mr|Mrs|al|incl|[A-Z])\.$")
_END: Final = re.compile(r"[.!?][)\]']*$")
_SHORT: Final = 12
"""Words of a sentence that may have more semicolons: a list."""


class Reason(NamedTuple):
    """Why a place is hard to read: the kind of problem, and what to do about it."""

    kind: str
    advice: str
    text: str


def reasons(passage: Passage) -> Iterator[Reason]:
    """Yield what is hard to read in a passage."""
    text = passage.text
    if passage.kind == "test":
        if len(text) > _LIMITS["test_name"]:
            yield Reason("long test name", f"at most {_LIMITS['test_name']} characters", text)
    elif passage.kind == "name":
        if text.strip("_") in _VAGUE:
            yield Reason("vague name", "say what the value is", text)
        elif _ODD.search(text):
            yield Reason("odd name", "use the field's words", text)
    else:
        text = without_markup(text)
        if passage.kind == "cell" and len(text) > _LIMITS["cell"]:
            yield Reason("long cell", f"at most {_LIMITS['cell']} characters", text)
        for sentence in sentences(text):
            yield from _of_sentence(sentence, passage.kind)


def without_markup(text: str) -> str:
    """Return the words of a text: inline code counts as one word, a link as its words."""
    text = re.sub(r"(`+)(?:(?!\1).)+?\1", " CODE ", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<[^>\s][^>]*>|https?://\S+", " ", text)
    text = re.sub(r"\$?\{[^}]*\}|&[a-z]+;", " CODE ", text)
    text = re.sub(r"\*\*|__(?=\w)|(?<=\w)__|[*“”\"]", "", text)
    text = re.sub(r"(?:CODE\s+)+CODE", "CODE", " ".join(text.split()))
    return re.sub(r"\s+([.,;:!?)])", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without markup."""
    words, begun = text.split(), 0
    for number, word in enumerate(words, 1):
        following = words[number] if number < len(words) else ""
        ends = _END.search(word) and not _ABBREVIATION.search(word.rstrip(")]'"))
        if not following or (ends and re.match(r"[(\[']?[A-Z0-9]", following)):
            yield " ".join(words[begun:number])
            begun = number


def _of_sentence(sentence: str, kind: str) -> Iterator[Reason]:
    if _longest_part(sentence) > _LIMITS["sentence_words"]:
        yield Reason("long sentence", f"at most {_LIMITS['sentence_words']} words", sentence)
    if kind != "heading":
        is_long = len(sentence.split()) > _SHORT and kind != "cell"
        if sentence.count(";") > _LIMITS["semicolons"] and is_long:
            yield Reason("semicolons", "write two sentences", sentence)
        if len(_RELATIVE.findall(sentence)) > _LIMITS["relative_clauses"]:
            yield Reason("relative clauses", "write two sentences", sentence)
        if len(_PRONOUN.findall(sentence)) > _LIMITS["pronouns"]:
            yield Reason("pronouns", "repeat the nouns", sentence)
        if _CLAUSE.match(sentence):
            yield Reason("clause for a noun", "begin with a noun", sentence)
    for pattern, instead in _WORDS:
        if match := pattern.search(sentence):
            yield Reason("word", f"'{match[0].strip()}': write {instead}", sentence)


def _longest_part(sentence: str) -> int:
    """Return the words of the longest part; a text in brackets, or after a colon or a dash, is a part of its own."""
    asides = re.findall(r"\(([^()]*)\)", sentence)
    parts = re.split(r": | -+ ", re.sub(r"\([^()]*\)", "", sentence))
    return max(len(re.findall(r"[\w$'./-]*\w[\w'./-]*", part)) for part in (*parts, *asides))
