"""Pages that do not change by themselves say of what moment they are, and how to see what is true now."""

import re
from html import unescape

import pytest

from dcf.application.application import Application
from dcf.values.instants import from_text
from dcf.web.moments import this_moment
from dcf.web.site import build_site
from tests.support.tables import rows
from tests.web.browsing import Browser

pytestmark = pytest.mark.anyio

PAGES = ("/ui/why", "/ui/inbox", "/ui/inbox?person=alice&group=finance", "/ui/agents", "/ui/agents?from=50")


@rows("path", PAGES)
async def test_a_page_says_of_what_moment_it_is_and_links_to_itself(application: Application, path: str) -> None:
    browser = Browser(build_site(application))
    before = from_text(this_moment()) or 0
    page = await browser.get(path)
    after = from_text(this_moment()) or 0
    match = re.search(r'As of <time datetime="([^"]+)">([^<]+)</time> UTC · <a href="([^"]+)">Refresh</a>', page)
    assert match is not None
    assert before <= (from_text(match[1]) or 0) <= after
    assert match[1][11:19] == match[2]
    assert unescape(match[3]) == path
    assert "As of" in await browser.get(unescape(match[3]))
