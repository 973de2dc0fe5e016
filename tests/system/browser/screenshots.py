"""`python -m tests.system.browser.screenshots FOLDER`: the screens in both themes, for the documentation.

Needs Chromium. Agents do a little work on a Redis of their own for half a minute, and Chromium looks at it. The files
are small because colours are reduced to the 256 most used ones.
"""

import argparse
import base64
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, expect

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from dcf.web.site import pages
from tests.support.redis.restricted import restricted_redis
from tests.system.browser.browser import THEMES, Theme, opened_browser
from tests.system.browser.demo_runs import Crew
from tests.tools.calls import serving

SCREENS: Final = {
    "runs": "/ui/runs",
    "graph": "/ui/runs/release-0.2?state=CollectChanges",
    "timeline": "/ui/runs/release-0.2?tab=timeline&state=Translate",
    "why": "/ui/why",
    "inbox": "/ui/inbox?run=refund-318&state=Approve",
    "agents": "/ui/agents",
    "workflow": "/ui/workflows/Refund",
    "system": "/ui/system",
}
OF_ACCOUNTS: Final = {"accounts": "/ui/accounts", "parked": "/ui/runs/review-4711"}
"""Screens in the folder `agents/pictures`, of the page on usage limits."""

ON_A_PHONE: Final = {"phone-runs": "/ui/runs", "phone-run": "/ui/runs/release-0.2"}

_REDUCE: Final = """async (png) => {
  const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const one of pixels) counts.set(one, (counts.get(one) || 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([one]) => one);
  const parts = (one) => [one & 255, (one >> 8) & 255, (one >> 16) & 255];
  const known = palette.map(parts);
  const nearest = (one) => {
    const [r, g, b] = parts(one);
    let best = 0, least = Infinity;
    known.forEach(([x, y, z], at) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) [best, least] = [at, far];
    });
    return best;
  };
  const place = new Map();
  for (const one of counts.keys()) place.set(one, nearest(one));
  const indexes = new Uint8Array(pixels.length);
  pixels.forEach((one, at) => { indexes[at] = place.get(one); });
  let text = "";
  for (let at = 0; at < indexes.length; at += 32768) text += String.fromCharCode(...indexes.subarray(at, at + 32768));
  return { width: image.width, height: image.height, palette: known, indexes: btoa(text) };
}"""


def main(arguments: list[str]) -> None:
    """Write the pictures into the folder, and say how large they are."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    of_accounts = folder.parent / "agents" / "pictures"
    for place in (folder, of_accounts):
        place.mkdir(parents=True, exist_ok=True)
    with demo_site() as origin, opened_browser() as browser:
        workshop = browser.new_page()
        for theme in THEMES:
            for place, screens in ((folder, SCREENS), (of_accounts, OF_ACCOUNTS)):
                for name, path in screens.items():
                    write(place / f"{name}-{theme}.png", shot(browser, f"{origin}{path}", theme, 1280, 860), workshop)
            for name, path in ON_A_PHONE.items():
                write(folder / f"{name}-{theme}.png", shot(browser, f"{origin}{path}", theme, 360, 720), workshop)
    written = [*folder.glob("*.png"), *of_accounts.glob("*.png")]
    sys.stdout.write(f"{len(written)} pictures, {sum(picture.stat().st_size for picture in written) // 1024} KB\n")


@contextmanager
def demo_site() -> Iterator[str]:
    """A server of the page while the context lasts, with runs as a shop may have them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dcf-")))
        redis = stack.enter_context(restricted_redis(folder / "redis"))
        chosen = {"redis_url": redis.url, "auth": "off", "allow_operator": True}
        opened = stack.enter_context(open_application(Settings.model_validate(chosen)))
        app = build_http_app(opened)
        app.router.routes.append(pages(opened, may_act=True))
        origin = stack.enter_context(serving(app))
        fill(Crew(opened), Crew(opened, pause=time.sleep))
        yield origin


def fill(quick: Crew, slow: Crew) -> None:
    """Make the runs, the most interesting ones last, which are shown first."""
    for number in range(2031, 2036):
        quick.finished(number, workflow_id=f"order-{number}", project="shop")
    quick.broken(workflow_id="order-2036", project="shop")
    quick.lost(workflow_id="import-shop", tags_json=["nightly"])
    quick.retried(workflow_id="import-warehouse", tags_json=["nightly"])
    stopped = quick.running(2037, workflow_id="order-2037")
    quick.ask("cancel_run", workflow_id=stopped, reason="the customer called")
    quick.waiting(workflow_id="refund-318", keep=True)
    quick.accounts()
    quick.parked(workflow_id="review-4711")
    slow.finished(2038, workflow_id="order-2038", project="shop")
    quick.running(2039, workflow_id="order-2039", project="shop")
    slow.mapped(workflow_id="release-0.2", tags_json=["docs"])


def shot(browser: Browser, url: str, theme: Theme, width: int, height: int) -> bytes:
    """Return a picture of a page, as large as its window."""
    viewport = {"width": width, "height": height}
    context = browser.new_context(color_scheme=theme, viewport=viewport, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    answer = page.goto(url)
    assert answer is not None
    assert answer.status == 200, f"{url}: {answer.status}"
    sign = page.locator("[data-live-stream] [data-is]")
    if sign.count():
        expect(sign.first).to_have_attribute("data-is", "on")
    taken = page.screenshot()
    context.close()
    return taken


def write(file: Path, taken: bytes, workshop: Page) -> None:
    """Write a picture with at most 256 colours."""
    reduced = workshop.evaluate(_REDUCE, base64.b64encode(taken).decode())
    width, height, indexes = reduced["width"], reduced["height"], base64.b64decode(reduced["indexes"])
    rows = b"".join(b"\0" + indexes[at : at + width] for at in range(0, width * height, width))
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": bytes(part for colour in reduced["palette"] for part in colour),
        b"IDAT": zlib.compress(rows, 9),
        b"IEND": b"",
    }
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


if __name__ == "__main__":
    main(sys.argv[1:])
