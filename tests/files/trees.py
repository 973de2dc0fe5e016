"""Calls of a file tree with the options that most tests want, and what is on the disk."""

from pathlib import Path
from typing import Any

from dcf.files.tree import Content, FileTree, Listing
from dcf.values.refusal import Refusal

SECRET = b"content of the neighbours"


def code(result: object) -> str:
    assert isinstance(result, Refusal), result
    return result.code


def text(content: Content | Refusal) -> bytes:
    assert isinstance(content, Content), content
    return content.data


def read(tree: FileTree, path: str) -> bytes:
    return text(tree.read(path, 0, 1000))


def write(tree: FileTree, path: str, data: bytes, **options: bool) -> str | Refusal:
    return tree.write(path, data, **{"append": False, "create_parents": True} | options)


def names(tree: FileTree, path: str = ".", **options: Any) -> list[str]:
    entries = tree.entries(
        path, **{"recursive": True, "hidden": False, "limit": 100, "room": 10**6, "after": None} | options
    )
    assert isinstance(entries, Listing), entries
    return [entry.path[len(entries.path) + 1 :] for entry in entries.entries]


def move(tree: FileTree, source: str, target: str, **options: bool) -> object:
    return tree.move(source, target, **{"overwrite": False, "create_parents": True} | options)


def below(place: Path) -> list[str]:
    return sorted(item.name for item in place.iterdir())


def state_of(place: Path) -> dict[str, Any]:
    return {
        str(item): item.lstat().st_size if item.is_dir() else item.read_bytes() for item in sorted(place.rglob("*"))
    }
