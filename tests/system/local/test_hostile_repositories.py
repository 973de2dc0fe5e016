"""A repository executes nothing on the agent's machine: each setting that plain git obeys, and dcf does not.

A row shows first that plain git springs the trap, so that none passes for want of a trap.
"""

import os
import pty
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest

from dcf.local import git, worktree
from dcf.local.git import GitRefused
from dcf.local.working_root import WorkingDirectory
from tests.support.tables import rows
from tests.system.local.conftest import Repository

ANY_CODE = (0, 1, 2, 128, 129)


@dataclass(frozen=True)
class Trap:
    """A repository with a program that must not run; `sprung` is there once it has."""

    repository: Repository
    program: Path
    sprung: Path

    @property
    def root(self) -> Path:
        return self.repository.root

    def config(self, name: str, value: str | None = None) -> None:
        self.repository.git("config", name, str(self.program) if value is None else value)

    def attributes(self, line: str) -> None:
        (self.root / ".git/info/attributes").write_text(f"{line}\n")

    def plain(self, *arguments: str, given: str = "") -> None:
        """Run git as a person would, on a terminal."""
        main, terminal = pty.openpty()
        try:
            subprocess.run(
                ["git", *arguments],
                cwd=self.root,
                input=given.encode(),
                stdout=terminal,
                stderr=subprocess.DEVNULL,
                check=False,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb"},
            )
        finally:
            os.close(main)
            os.close(terminal)


def trap_in(folder: Path) -> Trap:
    folder.mkdir()
    root = folder / "project"
    root.mkdir()
    repository = Repository(root)
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.write("README.md", "hello\n")
    repository.commit("first")
    program, sprung = folder / "trap.sh", folder / "sprung"
    program.write_text(f"#!/bin/sh\ntouch '{sprung}'\n")
    program.chmod(0o755)
    return Trap(repository, program, sprung)


def changed(trap: Trap) -> None:
    """Change a file so that only its content tells: git must read it."""
    place = trap.root / "README.md"
    place.write_text("HELLO\n")
    os.utime(place, (1, 1))


def a_filter(kind: str, driver: str = "x") -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        trap.attributes(f"* filter={driver}")
        trap.config(f"filter.{driver}.{kind}")
        trap.config(f"filter.{driver}.required", "true")

    return arrange


def an_included_filter(trap: Trap) -> None:
    trap.attributes("* filter=x")
    (trap.root.parent / "more").write_text(f'[filter "x"]\nclean = {trap.program}\n')
    trap.config("include.path", str(trap.root.parent / "more"))


def a_filter_of_a_submodule(trap: Trap) -> None:
    inner = Repository(trap.root / "inner")
    inner.root.mkdir()
    inner.git("init", "--quiet", "--initial-branch", "main")
    inner.write("a.txt", "hello\n")
    inner.commit()
    trap.repository.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    trap.repository.git("commit", "--quiet", "--message", "inner")
    nested = Trap(inner, trap.program, trap.sprung)
    a_filter("clean")(nested)
    (inner.root / "a.txt").write_text("HELLO\n")
    os.utime(inner.root / "a.txt", (1, 1))


def hooks(folder: str) -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        place = trap.root / folder
        place.mkdir(exist_ok=True, parents=True)
        for hook in ("post-checkout", "reference-transaction", "post-index-change"):
            (place / hook).symlink_to(trap.program)
        if folder != ".git/hooks":
            trap.config("core.hooksPath", str(place))
        trap.sprung.unlink(missing_ok=True)

    return arrange


def a_driver(name: str) -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        trap.attributes("* diff=x")
        trap.config(f"diff.x.{name}")

    return arrange


def a_setting(*names: str, **more: str) -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        for name in names:
            trap.config(name)
        for name, value in more.items():
            trap.config(name.replace("__", "."), value)

    return arrange


def a_signed_commit(name: str, kind: str) -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        tree = trap.repository.git("rev-parse", "HEAD^{tree}")
        person = "A <a@example.org> 1700000000 +0000"
        signature = f"-----BEGIN {kind}-----\n \n eA==\n -----END {kind}-----"
        text = f"tree {tree}\nauthor {person}\ncommitter {person}\ngpgsig {signature}\n\nsigned\n"
        (trap.root.parent / "commit").write_text(text)
        made = trap.repository.git("hash-object", "-t", "commit", "-w", str(trap.root.parent / "commit"))
        trap.repository.git("reset", "--quiet", "--hard", made)
        trap.config(name)
        trap.config("log.showSignature", "true")

    return arrange


def a_repository_without_some_objects(trap: Trap) -> None:
    """The missing ones are fetched when they are needed, by a program that the repository names."""
    blob = trap.repository.git("rev-parse", "HEAD:README.md")
    (trap.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    trap.config("remote.origin.url", str(trap.root.parent))
    trap.config("remote.origin.promisor", "true")
    trap.config("core.repositoryFormatVersion", "1")
    trap.config("extensions.partialClone", "origin")
    trap.config("remote.origin.uploadpack")


def a_remote(url: str, *settings: str, **more: str) -> Callable[[Trap], None]:
    def arrange(trap: Trap) -> None:
        trap.config("remote.origin.url", url.format(trap=trap.program))
        a_setting(*settings, **more)(trap)

    return arrange


@dataclass(frozen=True)
class Row:
    """The trap, the command of plain git that springs it, and whether the command is tried here as well."""

    sets: Callable[[Trap], None]
    command: tuple[str, ...]
    given: str = ""
    here: bool = True


ASKED = "protocol=https\nhost=example.org\n\n"
ROWS: Mapping[str, Row] = {
    "filter clean": Row(a_filter("clean"), ("diff", "HEAD")),
    "filter process": Row(a_filter("process"), ("diff", "HEAD")),
    "filter smudge": Row(a_filter("smudge"), ("checkout", "--", "README.md")),
    "filter with = in its name": Row(a_filter("clean", "a=b"), ("diff", "HEAD")),
    "filter with a dot in its name": Row(a_filter("clean", "a.clean"), ("diff", "HEAD")),
    "filter of an included file": Row(an_included_filter, ("diff", "HEAD")),
    "filter of a submodule": Row(a_filter_of_a_submodule, ("status",), here=False),
    "hooks": Row(hooks(".git/hooks"), ("switch", "--force-create", "y")),
    "core.hooksPath": Row(hooks("own-hooks"), ("switch", "--force-create", "y")),
    "core.fsmonitor": Row(a_setting("core.fsmonitor"), ("status",)),
    "diff.external": Row(a_setting("diff.external"), ("diff", "HEAD"), here=False),
    "diff command": Row(a_driver("command"), ("diff", "HEAD"), here=False),
    "diff textconv": Row(a_driver("textconv"), ("diff", "HEAD"), here=False),
    "core.pager": Row(a_setting("core.pager"), ("diff", "HEAD")),
    "gpg.program": Row(a_signed_commit("gpg.program", "PGP SIGNATURE"), ("log", "-1")),
    "gpg.openpgp.program": Row(a_signed_commit("gpg.openpgp.program", "PGP SIGNATURE"), ("log", "-1")),
    "gpg.x509.program": Row(a_signed_commit("gpg.x509.program", "SIGNED MESSAGE"), ("log", "-1")),
    "gpg.ssh.program": Row(
        a_setting("gpg.ssh.program", gpg__format="ssh", user__signingkey="key::ssh-ed25519 AAAA"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-S", "--allow-empty", "--message", "x"),
    ),
    "objects that are fetched": Row(a_repository_without_some_objects, ("cat-file", "-p", "HEAD:README.md")),
    "core.sshCommand": Row(a_remote("ssh://example.org/x", "core.sshCommand"), ("ls-remote", "origin")),
    "protocol ext": Row(a_remote("ext::{trap}", protocol__ext__allow="always"), ("ls-remote", "origin")),
    "core.gitProxy": Row(a_remote("git://example.org/x", "core.gitProxy"), ("ls-remote", "origin")),
    "uploadpack": Row(a_remote("{trap}", "remote.origin.uploadpack"), ("ls-remote", "origin")),
    "credential.helper": Row(a_setting("credential.helper"), ("credential", "fill"), given=ASKED),
}


@rows("name", list(ROWS))
def test_no_setting_of_a_repository_executes_anything(tmp_path: Path, name: str) -> None:
    row = ROWS[name]
    trap = trap_in(tmp_path / name.replace(" ", "-"))
    row.sets(trap)
    changed(trap)
    everything(trap.root)
    assert not trap.sprung.exists(), "dcf executed it"
    if row.here:
        git.run(trap.root, *row.command, ok=ANY_CODE, given=row.given.encode())
        assert not trap.sprung.exists(), f"{row.command} with the settings of dcf executed it"
    changed(trap)
    trap.plain(*row.command, given=row.given)
    assert trap.sprung.exists(), "plain git does not execute it: the row proves nothing"


def everything(root: Path) -> None:
    """Ask all that agents may ask of a worktree; git may refuse some of it."""
    place = WorkingDirectory(root, root)
    with suppress(GitRefused):
        worktree.described(git.facts(place))
    asks: tuple[Callable[[], object], ...] = (
        lambda: worktree.record_start(place, "unit"),
        lambda: worktree.changes_since(place, start="HEAD", unit="unit", areas=[]),
        lambda: worktree.patch_of(place, "HEAD"),
        lambda: worktree.make_branch(place, "dcf-made"),
    )
    for ask in asks:
        with suppress(GitRefused):
            ask()


def test_git_is_started_once_for_a_command_that_executes_nothing_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any other command, git lists what the repository names, so that it can be switched off."""
    root = trap_in(tmp_path / "counted").root
    started = tmp_path / "started"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/git"
    program.write_text(f"#!/bin/sh\necho \"$1\" >>'{started}'\nexec '{which('git')}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def processes(ask: Callable[[], object]) -> list[str]:
        started.write_text("")
        ask()
        return started.read_text().split()

    assert processes(lambda: git.run(root, "config", "--list")) == ["config"]
    assert processes(lambda: git.run(root, "rev-parse", "HEAD")) == ["rev-parse"]
    assert processes(lambda: git.run(root, "cat-file", "blob", "HEAD:README.md")) == ["cat-file"]
    assert processes(lambda: git.run(root, "check-ref-format", "--branch", "x")) == ["check-ref-format"]
    assert processes(lambda: git.beginning(root, "cat-file", "blob", "HEAD:README.md", limit=1)) == ["cat-file"]
    assert processes(lambda: git.facts(WorkingDirectory(root, root))) == ["rev-parse", "config", "config", "status"]
    assert processes(lambda: git.run(root, "update-ref", "refs/heads/x", "HEAD")) == ["config", "update-ref"]
    assert processes(lambda: git.run(root, "switch", "--quiet", "x")) == ["config", "switch"]
    assert processes(lambda: git.beginning(root, "diff", "HEAD", limit=1)) == ["config", "diff"]


def test_a_filter_of_the_users_own_settings_is_not_run_for_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = trap_in(tmp_path / "own")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text(f'[filter "lfs"]\nclean = {trap.program}\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    trap.attributes("* filter=lfs")
    changed(trap)
    everything(trap.root)
    assert not trap.sprung.exists()
    trap.plain("diff", "HEAD")
    assert trap.sprung.exists()


def test_a_worktree_outside_the_root_is_not_read(tmp_path: Path) -> None:
    """Neither one that a repository names, nor one around the root, nor a false `.git`."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("secret")
    named = trap_in(tmp_path / "named")
    named.config("core.worktree", str(secret))
    around = trap_in(tmp_path / "around")
    (around.root / "sub").mkdir()
    bare = tmp_path / "bare"
    Repository(tmp_path).git("init", "--quiet", "--bare", str(bare))
    Repository(bare).git("config", "core.bare", "false")
    Repository(bare).git("config", "core.worktree", str(secret))
    for place in (named.root, around.root / "sub", bare):
        with pytest.raises(GitRefused) as refused:
            git.facts(WorkingDirectory(place, place))
        assert refused.value.refusal.code == "no_worktree"
    assert git.facts(WorkingDirectory(around.root / "sub", around.root)).root == around.root
    assert git.facts(WorkingDirectory(around.root / "sub")).root == around.root, "where the client's root is in it"


def a_file(root: Path, secret: Path) -> None:
    root.mkdir()
    (root / ".git").write_text(f"gitdir: {secret}/.git\n")


def a_link(root: Path, secret: Path) -> None:
    root.mkdir()
    (root / ".git").symlink_to(secret / ".git")


def a_common_directory(root: Path, secret: Path) -> None:
    trap_in(root.parent / "inner").root.rename(root)
    (root / ".git/commondir").write_text(f"{secret}/.git\n")


def a_made_up_worktree(root: Path, secret: Path) -> None:
    own = root.parent / "worktrees/made-up"
    own.mkdir(parents=True)
    root.mkdir()
    (root / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{root}/.git\n")
    (own / "commondir").write_text(f"{secret}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def linked_data(root: Path, secret: Path) -> None:
    trap_in(root.parent / "inner").root.rename(root)
    for name in ("objects", "refs"):
        (root / ".git" / name).rename(root.parent / f"old-{name}")
        (root / ".git" / name).symlink_to(secret / ".git" / name)


def alternates(root: Path, secret: Path) -> None:
    """Objects of others, by way of a directory within the boundary."""
    trap_in(root.parent / "inner").root.rename(root)
    between = root / "between"
    (between / "info").mkdir(parents=True)
    (between / "info/alternates").write_text(f"{secret}/.git/objects\n")
    (root / ".git/objects/info/alternates").write_text(f"{between}\n")
    head = Repository(secret).git("rev-parse", "HEAD")
    (root / ".git/refs/heads/main").write_text(f"{head}\n")


@rows("arrange", [a_file, a_link, a_common_directory, a_made_up_worktree, linked_data, alternates])
def test_the_data_of_a_repository_outside_the_root_is_not_read(
    tmp_path: Path, arrange: Callable[[Path, Path], None]
) -> None:
    folder = tmp_path / arrange.__name__
    secret = trap_in(folder).root
    boundary = folder / "boundary"
    boundary.mkdir()
    root = boundary / "project"
    arrange(root, secret)
    with pytest.raises(GitRefused) as refused:
        worktree.patch_of(WorkingDirectory(root, boundary), None)
    assert refused.value.refusal.code == "no_worktree"


def test_a_worktree_or_submodule_of_a_repository_outside_is_its_own(tmp_path: Path) -> None:
    trap = trap_in(tmp_path / "main")
    added = tmp_path / "added"
    trap.repository.git("worktree", "add", "--quiet", str(added))
    outer = trap_in(tmp_path / "outer")
    outer.repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(trap.root), "sub")
    for root in (added, outer.root / "sub"):
        assert git.facts(WorkingDirectory(root, root)).root == root
        assert git.facts(WorkingDirectory(root)).root == root, "where the client's root is it"
