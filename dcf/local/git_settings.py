"""Settings of git that execute something, and how they are switched off: a repository may come from anywhere.

git has no switch for "execute nothing". Settings with a fixed name are overridden here. Settings that the repository
names itself (filters, hooks) are overridden by the names that git lists. The overrides are passed in the
environment, since a name may hold `=`, which `-c` takes for the end of a name. External diff programs, textconv and
submodules have no setting that switches them off for certain: `DIFF` and `STATUS` have the options.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

DIFF: Final = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short")
STATUS: Final = ("--ignore-submodules=dirty",)
"""A submodule has its own, unlisted settings: it is not read."""

MOST_NAMED: Final = 500
"""Filters and hooks that one repository may name."""

EXECUTE_NOTHING: Final = frozenset({"cat-file", "check-ref-format", "config", "rev-parse"})
"""Commands that need no list of what a repository names: git documents no filter, hook or diff driver for them.

They read settings, refs and objects. Of them only `cat-file` runs programs, with `--filters` and `--textconv`
(git-cat-file). `dcf agents local` passes neither. Commands that write a ref run hooks (githooks:
reference-transaction). Commands that compare or write files of the worktree run filters (gitattributes).
"""

_KEPT: Final = ("PATH", "HOME", "TMPDIR")
_OFF: Final[Mapping[str, str]] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "submodule.recurse": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "safe.bareRepository": "explicit",
}
"""Settings of commands that are not run here (editors, merge drivers, aliases, ...) are not among them."""

_ENVIRONMENT: Final[Mapping[str, str]] = {
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
}
"""No protocol is allowed: a repository without some objects would fetch them, by a program that it names."""

_FILTER: Final = re.compile(r"filter\.(?:.*)\.(clean|smudge|process|required)", re.DOTALL)
_HOOK: Final = re.compile(r"(hook\..*)\.[^.]+", re.DOTALL)


def environment(named: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of git, with the settings that are switched off and further ones."""
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    settings = {**_OFF, **(named or {})}
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        numbered |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**variables, **_ENVIRONMENT, **numbered}


def named_off(names: Iterable[str]) -> dict[str, str]:
    """Return the settings that switch off the filters and hooks among those that a configuration names."""
    off: dict[str, str] = {}
    for name in names:
        match = _FILTER.fullmatch(name)
        if match is not None:
            off[name] = "false" if match[1] == "required" else ""
        elif (hook := _HOOK.fullmatch(name)) is not None:
            off[f"{hook[1]}.enabled"] = "false"
    return off
