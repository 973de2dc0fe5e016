"""promtool, Prometheus's own check of rules, their tests, and what is scraped."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.system.clients.node import in_ci


def promtool(*arguments: str | Path, given: str | None = None) -> None:
    """Run it, and fail the test with what it says if it complains; it may be missing anywhere but in CI."""
    which = shutil.which("promtool")
    if which is None and in_ci():
        pytest.fail("CI checks the rules with promtool, which .ci/run installs")
    if which is None:
        pytest.skip("there is no promtool on this machine (Debian's package prometheus)")
    done = subprocess.run([which, *arguments], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
