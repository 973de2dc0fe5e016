"""Two terminals of docs/guides/runs.md: a worker in one, and runs that are started for it from another."""

import json
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site, finish, first_line

pytestmark = pytest.mark.processes

PAGE = (ROOT / "docs" / "guides" / "runs.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(language: str, word: str) -> str:
    block: str = next(text for kind, text in BLOCKS if kind == language and word in text)
    return block


def command(line: str, folder: Path) -> list[str]:
    """The words of a command of the page, with its files where this test has them."""
    words = line.partition("#")[0].split()[1:]
    return [str(folder / word) if (folder / word).exists() else word for word in words]


def test_a_worker_in_one_terminal_is_fed_from_another(site: Site) -> None:
    folder = site.folder
    (folder / "hello.py").write_text(block("python", "Greet"))
    (folder / "hello.json").write_text(block("json", "hello"))
    (folder / "name.json").write_text('{"name": "Ada"}')
    work, start, show, by_name, again, *_ = block("sh", "dcf start").strip().splitlines()
    worker = site.dcf(*command(work, folder), "--json")
    assert json.loads(first_line(worker))["states"] == ["Greet"]
    assert finish(site.dcf(*command(start, folder))) == ("first\n", 0)
    assert output_of(site, "first") == {"greeting": "Hello, Ada!"}
    for line in (by_name, again):
        run, code = finish(site.dcf(*command(line, folder)))
        assert (code, output_of(site, run.strip())) == (0, {"greeting": "Hello, Ada!"})
    assert "succeeded" in finish(site.dcf(*command(show, folder)))[0]
    worker.terminate()
    worker.wait(LONG)


def output_of(site: Site, run: str) -> object:
    """The last lines of the run."""
    wait_until(lambda: any(event["type"] == "RunSucceeded" for event in site.events(run)), LONG)
    meta: dict[str, object] = json.loads(finish(site.dcf("show", run, "--json"))[0])["meta"]
    return meta["output"]
