"""The promises for one server hold for a cluster, and those of the store for a server behind a sentinel."""

import os
import subprocess
import sys

from tests.support.paths import ROOT
from tests.support.tables import rows

BEHIND_A_SENTINEL = ("test_connection", "test_transact")
"""Files that are tried behind a sentinel: only how dcf connects differs."""

OF_STORE = f"fake or cluster or (sentinel and ({' or '.join(BEHIND_A_SENTINEL)}))"


@rows(
    ("tests", "kinds", "chosen"),
    [
        ("tests/store", "fake cluster sentinel", OF_STORE),
        ("tests/features/accounts", "cluster", "cluster"),  # the documents of an account are in another slot than a run
    ],
)
def test_promises_are_kept_on_redis_of_each_kind(tests: str, kinds: str, chosen: str) -> None:
    """Tests of the first tier that use `connections` have the kind in their names. All run in one process."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", tests, "-k", chosen, "-n", "0", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=os.environ | {"DCF_TEST_REDIS": kinds},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
