"""What the store promises of one server is true of a cluster, and of a server behind a sentinel."""

import os
import subprocess
import sys

from tests.support.paths import ROOT
from tests.support.tables import rows


@rows(
    ("kind", "tests"),
    [
        ("fake", ["tests/store"]),
        ("cluster", ["tests/store"]),
        (
            "sentinel",
            ["tests/store/test_connection.py", "tests/store/test_transact.py"],
        ),  # only how it connects differs
    ],
)
def test_the_store_keeps_its_promises(kind: str, tests: list[str]) -> None:
    """Tests of the first tier that use `connections` have the kind in their names."""
    command = [sys.executable, "-m", "pytest", *tests, "-k", kind, "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"DCF_TEST_REDIS": kind}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-20_000:]
