"""The program of a confined child: limits itself, then calls one pure function with whatever it reads.

A library may reserve address space when it is imported, so the limits come first and the function's module after them.
The child ends when its parent closes the pipe or ends. Until then the timer of the call ends it, so no child outlives
its parent by more than one call.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module

from dcf.confined.frames import OUT_OF_MEMORY, REPLY, REQUEST

_READY = REPLY.pack(0, 0)
_MICROS = 1_000_000


def serve(function: str, memory: int) -> None:
    """Call the function, named as `module:name`, with each request until the parent closes the pipe."""
    _limit(memory)
    module, name = function.split(":")
    try:
        # nosemgrep: nothing-of-a-caller-is-executed - the parent names a function of dcf, never data
        answer: Callable[[bytes], bytes] = getattr(import_module(module), name)
        os.write(1, _READY)
        while head := _read(REQUEST.size):
            length, micros = REQUEST.unpack(head)
            _write(_timed(answer, _read(length), micros))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _limit(memory: int) -> None:
    import resource  # noqa: PLC0415 - Windows, which has no confined children, lacks it

    # The terminal and supervisors signal whole groups of processes; the end of the parent ends this one.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    limits = {resource.RLIMIT_CORE: 0}
    if sys.platform != "darwin":  # which takes this limit, and does not keep it
        limits[resource.RLIMIT_AS] = memory
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def _timed(answer: Callable[[bytes], bytes], data: bytes, micros: int) -> bytes:
    """Return the framed answer; the timer, of processor time, ends this process."""
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, micros / _MICROS)
    answer_bytes = answer(data)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return REPLY.pack(len(answer_bytes), round((time.process_time() - begun) * _MICROS)) + answer_bytes


def _read(length: int) -> bytes:
    """Read that many bytes; fewer are read only when the parent has gone."""
    read = os.read(0, length)
    if len(read) == length:
        return read
    parts = [read]
    missing = length - len(read)
    while missing and read:
        read = os.read(0, missing)
        parts.append(read)
        missing -= len(read)
    return b"".join(parts) if not missing else b""


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]
