"""The promises of the store for one server hold for a cluster, and for a server behind a sentinel."""

import os
import subprocess
import sys

from tests.support.paths import ROOT

BEHIND_A_SENTINEL = ("test_connection", "test_transact")
"""Files that are tried behind a sentinel: only how dcf connects differs."""


def test_the_store_keeps_its_promises_on_fakeredis_a_cluster_and_behind_a_sentinel() -> None:
    """Tests of the first tier that use `connections` have the kind in their names. All run in one process."""
    chosen = f"fake or cluster or (sentinel and ({' or '.join(BEHIND_A_SENTINEL)}))"
    options = ("-k", chosen, "-n", "0", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/store", *options],
        cwd=ROOT,
        env=os.environ | {"DCF_TEST_REDIS": "fake cluster sentinel"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
