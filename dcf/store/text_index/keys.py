"""The Redis keys of text indexes. Those of one index share a hash tag, so all are on one server. None belongs to a run.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:text:{<index>}:entry:<id>` | hash | putting an entry: its document, its time, its words in their order, and the lists it is on | until it is removed or expires |
| `cp:idx:text:{<index>}:all` | sorted set | the same, in the same script: all entries, by their positions: the time, at least one more than the position before | with its entries |
| `cp:idx:text:{<index>}:w:<word>` | sorted set | the same: entries that have a word, by its weight and their positions | with its entries |
| `cp:idx:text:{<index>}:words` | sorted set | the same: the words of which there are entries, in the order of the alphabet | with its entries |
| `cp:idx:text:{<index>}:f:<facet>:<value>` | sorted set | the same: entries that have a value of a facet, by their positions | with its entries |
| `cp:idx:text:{<index>}:until` | sorted set | the same: entries that expire, by when | with its entries |
"""

from typing import Final

from dcf.store.keys.parts import encode_state

_BEGINNING: Final = "p:"


def prefix(index: str) -> str:
    """Return what all keys of an index begin with."""
    return f"cp:idx:text:{{{index}}}:"


def entry(index: str, entry_id: str) -> str:
    """Return the key of an entry."""
    return f"cp:idx:text:{{{index}}}:entry:{entry_id}"


def word(text: str) -> str:
    """Return the end of the key of the entries that have a word."""
    return f"w:{text}"


def beginning(text: str) -> str:
    """Return what stands for the keys of all words that begin like this; the script that searches knows them."""
    return f"{_BEGINNING}{text}"


def is_beginning(name: str) -> bool:
    """Return True if this stands for the keys of all words with a beginning."""
    return name.startswith(_BEGINNING)


def facet(name: str, value: str) -> str:
    """Return the end of the key of the entries that have this value of a facet."""
    return f"f:{name}:{encode_state(value)}"
