"""Files that a reader copies or publishes have no placeholder."""

import subprocess

from tests.support.paths import ROOT

PLACEHOLDER = "OW" + "NER"


def test_no_file_waits_for_somebody_to_put_in_a_name() -> None:
    """Constants of that name (`KEPT_…`, `_OF_…`) are code; placeholders are in data and pages."""
    names = ["*.json", "*.md", "*.toml", "*.yml", "*.yaml", "*.txt", "Dockerfile", "NOTICE", ".env.example"]
    done = subprocess.run(
        ["git", "grep", "-nw", PLACEHOLDER, "--", *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
