"""Shows what `dcf states ls` answers."""

from collections.abc import Mapping

from dcf.cli.reading.views import print_line, say
from dcf.cli.text import clean
from dcf.values.json_text import Json


def show_work(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a page of work, a line for each piece, and how to read the next one."""
    items, after = answer["items"], answer.get("next_cursor")
    for item in items:
        _print_item(item)
    say("Nothing is like that." if not items else f"{len(items)} shown.")
    if after is not None:
        say(f"There may be more: --cursor {after}")


def _print_item(item: Mapping[str, Json]) -> None:
    holder = f" held by {clean(item['holder'])}" if "holder" in item else ""
    since = f" since {str(item['since'])[:19]}Z" if "since" in item else ""
    reason = (
        f" ({clean(item['why'])})" if "why" in item else f" ({clean(item['outcome'])})" if "outcome" in item else ""
    )
    title = f" {clean(item['title'])}" if "title" in item else ""
    print_line(f"{item['status']:8} {clean(item['workflow_id'])} {clean(item['state'])}{title}{holder}{since}{reason}")
