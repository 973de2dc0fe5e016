"""Builds the site without a network: `python -m deploy.site generated/site`, or `make site`."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.site.staging import contents, stage

_ROOT: Final = Path(__file__).resolve().parents[2]


def main(site: Path) -> int:
    """Build the site into a folder, and return the exit code of the generator."""
    with tempfile.TemporaryDirectory(prefix="dcf-site-") as name:
        folder = Path(name)
        stage(_ROOT, folder / "docs")
        index = {"dcf": [{"Documentation": "README.md"}, {"README": "project/README.md"}]}
        config = {
            "site_name": "dcf",
            "site_description": "Durable workflows for AI agents, on Redis",
            "docs_dir": "docs",
            "site_dir": "site",
            "theme": {
                "name": "material",
                "font": False,
                "features": ["navigation.sections", "navigation.top", "content.code.copy"],
                "palette": [
                    {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                    {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
                ],
            },
            "plugins": ["search"],
            "markdown_extensions": ["attr_list", "md_in_html", "tables", "pymdownx.superfences", "pymdownx.highlight"],
            "nav": [index, *contents((folder / "docs" / "README.md").read_text("utf-8"))],
        }
        (folder / "mkdocs.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
        generator = str(Path(sys.executable).with_name("zensical"))
        command = [generator, "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
        done = subprocess.run(command, check=False, cwd=folder)
        if done.returncode == 0:
            shutil.rmtree(site, ignore_errors=True)
            shutil.copytree(folder / "site", site)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
