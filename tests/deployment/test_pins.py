"""Images of others: each is pinned by digest, and the release renews these pins."""

from typing import Any

import pytest

from deploy.release import pin
from tests.support.paths import ROOT
from tests.support.tables import rows

OLD, NEW = "sha256:" + "0" * 64, "sha256:" + "f" * 64

FILE = f"""\
FROM python:3.11-slim@{OLD} AS build
FROM python:3.11-slim
    image: letta/letta:0.16.8 # its image
    image: dcf
"""


@rows("name", pin.FILES)
def test_every_image_of_others_is_pinned_by_digest(name: str) -> None:
    references = list(pin.references((ROOT / name).read_text("utf-8")))
    assert references
    assert [tag for tag, digest in references if digest is None] == []


def test_one_tag_has_one_digest_in_all_files() -> None:
    references = {pair for name in pin.FILES for pair in pin.references((ROOT / name).read_text("utf-8"))}
    assert len({tag for tag, _ in references}) == len(references)


def test_references_are_those_of_others() -> None:
    assert list(pin.references(FILE)) == [
        ("python:3.11-slim", OLD),
        ("python:3.11-slim", None),
        ("letta/letta:0.16.8", None),
    ]


def test_pinning_changes_digests_and_nothing_else() -> None:
    written = pin.pinned(FILE, {"python:3.11-slim": NEW, "letta/letta:0.16.8": OLD})
    assert written == FILE.replace(f"@{OLD}", "").replace("-slim", f"-slim@{NEW}").replace("0.16.8", f"0.16.8@{OLD}")


def test_a_registry_that_does_not_answer_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho 'no such host' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(SystemExit, match="does not say the digest of redis:8: no such host"):
        pin.look_up("redis:8")
