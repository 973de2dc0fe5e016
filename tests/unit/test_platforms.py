"""Code that a platform lacks is guarded: every module imports on Windows, and all tests run on macOS.

On Windows no server of dcf runs, but clients and workers of a remote server do. So a name that Windows lacks may
stand in a function without a guard only in the modules of POSIX_ONLY, which nothing calls there.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.paths import ROOT

MODULES_OF_POSIX: Final = frozenset(
    "crypt fcntl grp posix pty pwd readline resource syslog termios tty".split()  # noqa: SIM905 - a list of words
)
MODULES_OF_LINUX: Final = frozenset({"ossaudiodev", "spwd"})

_OF_POSIX: Final = {
    "os": """
        O_CLOEXEC O_DIRECTORY O_DSYNC O_NDELAY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC WEXITSTATUS WIFEXITED WIFSIGNALED
        WNOHANG WTERMSIG chown chroot confstr fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg
        getpgid getpgrp getpriority getsid getuid killpg lchown lockf mkfifo mknod nice openpty posix_spawn pread pwrite
        readv register_at_fork sendfile set_blocking setegid seteuid setgid setpgid setpriority setsid setuid statvfs
        sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid writev
    """,
    "signal": """
        ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGPROF
        SIGQUIT SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ
        alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigwait
    """,
    "socket": "AF_UNIX MSG_DONTWAIT SO_REUSEPORT recv_fds send_fds",
    "select": "poll kqueue kevent",
    "time": "clock_getres clock_gettime tzset",
    "asyncio": "open_unix_connection start_unix_server",
}
_OF_LINUX: Final = {
    "os": """
        O_DIRECT O_PATH O_TMPFILE SCHED_BATCH copy_file_range eventfd fdatasync getrandom getresuid getxattr listxattr
        memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate sched_getaffinity sched_setaffinity setns setxattr
        splice unshare
    """,
    "signal": "SIGPOLL SIGPWR SIGRTMAX SIGRTMIN SIGSTKFLT pidfd_send_signal sigtimedwait sigwaitinfo",
    "socket": """
        AF_NETLINK AF_PACKET AF_VSOCK SOCK_CLOEXEC SOCK_NONBLOCK SO_BINDTODEVICE SO_PEERCRED TCP_DEFER_ACCEPT
        TCP_QUICKACK TCP_USER_TIMEOUT
    """,
    "select": "epoll",
    "time": "CLOCK_BOOTTIME CLOCK_MONOTONIC_COARSE",
    "resource": "RLIMIT_NICE RLIMIT_RTPRIO RUSAGE_THREAD prlimit",
    "fcntl": "F_OFD_SETLK F_SETPIPE_SZ",
}
NAMES_OF_POSIX: Final = {(module, name) for module, names in _OF_POSIX.items() for name in names.split()}
NAMES_OF_LINUX: Final = {(module, name) for module, names in _OF_LINUX.items() for name in names.split()}

POSIX_ONLY: Final = {
    "dcf/adapters/blobs/directory.py": "artifacts beside a server",
    "dcf/confined/calls.py": "IS_POSSIBLE is False on Windows: expressions run in the process",
    "dcf/confined/child.py": "the same",
    "dcf/confined/processes.py": "the same",
    "dcf/files/tree.py": "tools of files refuse: no directory can be opened on Windows",
    "dcf/hosting/children.py": "handlers of `dcf host`, a process of a server's machine",
    "dcf/local/commands.py": "`dcf agents local` works below a root, which Windows cannot open",
    "dcf/local/file_reading.py": "the same",
    "dcf/local/git.py": "the same",
    "dcf/store/embedded/directories.py": "the embedded server refuses Windows before",
    "dcf/store/embedded/server.py": "the same",
}
"""Modules whose functions need POSIX, and why they are not called on Windows."""

FILES: Final = sorted((ROOT / "dcf").rglob("*.py"))


class Uses(ast.NodeVisitor):
    """The names in one file that a platform lacks, without those behind a guard."""

    def __init__(self) -> None:
        self.at_import: list[str] = []
        self.of_posix: list[str] = []
        self.of_linux: list[str] = []
        self._depth = 0

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note_module(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._note_module(node.module or "", node.lineno)
        for alias in node.names:
            self._note_name(node.module or "", alias.name, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self._note_name(node.value.id, node.attr, node.lineno)
        if node.attr == "add_signal_handler":
            self._note("add_signal_handler", node.lineno, of_linux=False)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not _is_guard(node.test):
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if not _is_guard(node.test):
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        if not any(_catches_import_errors(handler) for handler in node.handlers):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for outside in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(outside)
        self._depth += 1
        for statement in node.body:
            if isinstance(statement, ast.If) and _is_guard(statement.test) and _leaves(statement):
                break
            self.visit(statement)
        self._depth -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def _note_module(self, module: str, line: int) -> None:
        if module in MODULES_OF_POSIX | MODULES_OF_LINUX:
            self._note(module, line, of_linux=module in MODULES_OF_LINUX)

    def _note_name(self, module: str, name: str, line: int) -> None:
        if (module, name) in NAMES_OF_POSIX | NAMES_OF_LINUX:
            self._note(f"{module}.{name}", line, of_linux=(module, name) in NAMES_OF_LINUX)

    def _note(self, name: str, line: int, *, of_linux: bool) -> None:
        where = f"line {line}: {name}"
        (self.of_linux if of_linux else self.of_posix).append(where)
        if not self._depth:
            self.at_import.append(where)


def _is_guard(test: ast.expr) -> bool:
    """Whether a condition asks for the platform, or whether a name is there."""
    return any(
        (isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.platform", "os.name"})
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "hasattr")
        for node in ast.walk(test)
    )


def _leaves(statement: ast.If) -> bool:
    return isinstance(statement.body[-1], ast.Return | ast.Raise)


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    names = set() if handler.type is None else {ast.unparse(node) for node in ast.walk(handler.type)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "AttributeError"})


def uses(source: str) -> Uses:
    visitor = Uses()
    visitor.visit(ast.parse(source))
    return visitor


def in_files(kind: str) -> Iterator[tuple[str, list[str]]]:
    for file in FILES:
        if lines := getattr(uses(file.read_text("utf-8")), kind):
            yield _named(file), lines


def _named(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_every_module_can_be_imported_on_every_platform() -> None:
    assert dict(in_files("at_import")) == {}


def test_nothing_needs_what_only_linux_has() -> None:
    assert dict(in_files("of_linux")) == {}


def test_only_the_modules_of_the_table_need_posix() -> None:
    needing = dict(in_files("of_posix"))
    assert needing.keys() - POSIX_ONLY.keys() == set(), needing
    assert POSIX_ONLY.keys() - needing.keys() == set(), "these need no row"


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "import signal\nEND = signal.SIGKILL",
        "from signal import SIGHUP",
        "import socket\ndef ask(family=socket.AF_UNIX): ...",
        "import os\nclass Child:\n    start = os.fork",
        "import sys\nif sys.argv:\n    import pwd",
        "from resource import getrlimit",
        "try:\n    import grp\nexcept OSError:\n    pass",
    ],
)
def test_what_is_not_guarded_is_seen(source: str) -> None:
    assert uses(source).at_import


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nif sys.platform != 'win32':\n    import fcntl",
        "try:\n    import pwd\nexcept ImportError:\n    pass",
        "import os, sys\nFLAG = 0 if sys.platform == 'win32' else os.O_NOFOLLOW",
        "import os, sys\ndef user():\n    if sys.platform == 'win32':\n        return 0\n    return os.getuid()",
        "import os\nif hasattr(os, 'fork'):\n    start = os.fork",
        "import signal\nEND = signal.SIGTERM",
    ],
)
def test_what_is_guarded_is_let_through(source: str) -> None:
    result = uses(source)
    assert (result.at_import, result.of_posix, result.of_linux) == ([], [], [])


def test_a_function_may_not_need_linux() -> None:
    assert uses("import os\ndef cores():\n    return os.sched_getaffinity(0)").of_linux
