"""Writes the SBOM (CycloneDX): every package that the wheel and its extras bring, with version and licence."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

from deploy.release import environments

ROOT = Path(__file__).parents[2]
FORM = ("--spec-version", "1.6", "--output-format", "JSON", "--output-reproducible", "--mc-type", "application")

SPDX: Final[Mapping[str, str]] = {"3-Clause BSD License": "BSD-3-Clause", "MIT License": "MIT"}
"""Licences that packages state in words. cyclonedx-py leaves them out."""


def write(environment: Path, target: Path) -> Path:
    """Describe what is installed in an environment; no time or number of this run gets in."""
    project = ("--pyproject", str(ROOT / "pyproject.toml"))
    with tempfile.TemporaryDirectory() as directory:
        program = environments.make(Path(directory), "sbom") / "cyclonedx-py"
        command: list[str | Path] = [
            program,
            "environment",
            *FORM,
            *project,
            "--output-file",
            target,
            environment / "bin" / "python",
        ]
        subprocess.run(command, check=True)
    bill = json.loads(target.read_text("utf-8"))
    add_licences(bill, environment)
    target.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", "utf-8")
    return target


def add_licences(bill: Mapping[str, Any], environment: Path) -> None:
    """Add the licences that packages state in words. Other words, or no licence, end the release."""
    (packages,) = environment.glob("lib/python*/site-packages")
    stated = {
        package.name: package.metadata.get_all("License", [""])[0].partition("\n")[0]
        for package in distributions(path=[str(packages)])
    }
    for component in bill["components"]:
        if not component.get("licenses"):
            words = stated[component["name"]]
            if words not in SPDX:
                sys.exit(f"{component['name']} states the licence {words!r}: add its SPDX id to {Path(__file__).name}")
            component["licenses"] = [{"license": {"id": SPDX[words]}}]
