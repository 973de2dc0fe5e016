"""Functions that the tests call in confined children. Imports nothing heavy: a child imports it within its limits."""

import os
from pathlib import Path


def echo(data: bytes) -> bytes:
    """Return the data."""
    return data


def allocate(data: bytes) -> bytes:
    """Need as many bytes as the data says."""
    return b"%d" % len(bytes(int(data)))


def spin(data: bytes) -> bytes:
    """Never end, for the data `work` at work and otherwise asleep."""
    while True:
        if data != b"work":
            os.read(os.pipe()[0], 1)


def identity(_data: bytes) -> bytes:
    """Return the id of the process and its open files but the first three, each as `number name`."""
    files = [file for file in Path("/proc/self/fd").iterdir() if file.name not in ("0", "1", "2")]
    opened = [f"{file.name} {file.readlink()}" for file in files if _is_open(int(file.name))]
    return "\n".join([str(os.getpid()), *opened]).encode()


def end(_data: bytes) -> bytes:
    """End the process."""
    os._exit(7)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
