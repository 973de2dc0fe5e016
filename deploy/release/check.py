"""Says what a release lacks: files that disagree stop it; what only the publisher can give is listed."""

import json
import tomllib
from pathlib import Path
from typing import Any

RESERVED = "example.dcf/"
"""The namespace in server.json until there is a publisher: a domain that cannot be registered."""


def project(root: Path) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def find_disagreements(root: Path) -> list[str]:
    """Return the files that have another version than pyproject.toml, and whether the CHANGELOG has it."""
    version = project(root)["version"]
    server = json.loads((root / "server.json").read_text("utf-8"))
    chart = (root / "deploy" / "helm" / "dcf" / "Chart.yaml").read_text("utf-8")
    versions = {
        "dcf/version.py": f'__version__ = "{version}"' in (root / "dcf" / "version.py").read_text("utf-8"),
        "server.json": {server["version"], *(package["version"] for package in server["packages"])} == {version},
        "deploy/mcpb/manifest.json": json.loads((root / "deploy/mcpb/manifest.json").read_text("utf-8"))["version"]
        == version,
        "deploy/helm/dcf/Chart.yaml": f'appVersion: "{version}"' in chart,
        "CHANGELOG.md": f"\n## {version} - " in (root / "CHANGELOG.md").read_text("utf-8"),
    }
    return [f"{name} does not have version {version}" for name, agrees in versions.items() if not agrees]


def find_shortfalls(root: Path) -> list[str]:
    """Return what is missing before anybody publishes the release."""
    name, version = json.loads((root / "server.json").read_text("utf-8"))["name"], project(root)["version"]
    missing = {
        f"server.json and README.md: a namespace of the publisher in place of {RESERVED}": name.startswith(RESERVED),
        "pyproject.toml: project.urls has no Source": "Source" not in project(root)["urls"],
        "CHANGELOG.md: the date of the version": f"## {version} - unreleased"
        in (root / "CHANGELOG.md").read_text("utf-8"),
    }
    return [text for text, is_missing in missing.items() if is_missing]
