"""The lock files, as data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

Environment = Mapping[str, str]

PYTHONS = {"3.11": "3.11.0", "3.12": "3.12.0", "3.13": "3.13.0", "3.14": "3.14.0"}
_SYSTEMS = {
    "Linux": {"sys_platform": "linux", "os_name": "posix"},
    "Darwin": {"sys_platform": "darwin", "os_name": "posix"},
}
_MACHINES = {"Linux": ("x86_64", "aarch64"), "Darwin": ("x86_64", "arm64")}
_CPYTHON = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}


@dataclass(frozen=True, slots=True)
class Pin:
    """A line of a lock file: a package with its version, where it is installed, and how many hashes it has."""

    requirement: Requirement
    hashes: int

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        assert specifier.operator == "=="
        return specifier.version


def read(path: Path) -> list[Pin]:
    lines = [
        line for line in path.read_text("utf-8").replace("\\\n", " ").splitlines() if line[:1] not in {"", "#", " "}
    ]
    return [
        Pin(Requirement(line.partition(" --hash")[0]), len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)))
        for line in lines
    ]


def environments() -> Iterator[Environment]:
    """Every platform and Python that dcf supports, as markers see it."""
    for (version, full), (system, names) in product(PYTHONS.items(), _SYSTEMS.items()):
        for machine in _MACHINES[system]:
            python = {"python_version": version, "python_full_version": full, "implementation_version": full}
            yield {**python, **names, **_CPYTHON, "platform_system": system, "platform_machine": machine, "extra": ""}


def requirements_of(project: Mapping[str, Any], extras: tuple[str, ...], environment: Environment) -> list[Requirement]:
    """Return the requirements of the project there; its extras may name each other."""
    optional = project["optional-dependencies"]
    texts = [*project["dependencies"], *chain.from_iterable(optional[name] for name in extras)]
    needed = [
        requirement
        for requirement in map(Requirement, texts)
        if requirement.marker is None or requirement.marker.evaluate({**environment})
    ]
    own = [requirement for requirement in needed if requirement.name == project["name"]]
    more = [requirement for inner in own for requirement in requirements_of(project, tuple(inner.extras), environment)]
    return [*(requirement for requirement in needed if requirement.name != project["name"]), *more]
