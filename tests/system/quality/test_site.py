"""The site is built from the pages alone, without a network, and can be searched."""

import json
import re
from pathlib import Path

from deploy.site.__main__ import main


def test_the_site_has_every_page_a_search_and_nothing_of_other_hosts(tmp_path: Path) -> None:
    assert main(tmp_path / "site") == 0
    pages = {page.relative_to(tmp_path / "site").as_posix(): page for page in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "concepts/leases/index.html", "project/index.html"} <= pages.keys()
    searched = json.loads((tmp_path / "site" / "search.json").read_text("utf-8"))
    assert any("fencing" in json.dumps(entry) for entry in searched["items"])
    loaded = [re.findall(r'(?:src|<link[^>]+href)="(https?:[^"]+)', page.read_text("utf-8")) for page in pages.values()]
    assert [address for addresses in loaded for address in addresses] == []
