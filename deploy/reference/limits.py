"""The page of limits: how large and how many everything may be. `tests/verbs/test_limits_table.py` proves every row."""

from typing import Final

from deploy.reference import limits_of_content, limits_of_servers
from deploy.reference.markdown import page, table

_NOTES: Final = """
## How limits count

- `/healthz` and `/readyz` are answered while all limits are reached.
- Bytes are those of JSON text: of documents (of the key that wrote one last), and of workflows, inputs and outputs
  until their run is gone (`expiry_secs`). In memory Redis may take eight times as much.
- A rejected request counts as a request, unless it is rejected for its rate.
- An answer that gives a lease is never rejected for its length.
- A key may have quotas of its own: `dcf keys add --quota`. `dcf keys show` prints what it uses.
"""


def render() -> str:
    """Return the page."""
    parts = [
        """
        A limit with a variable is a [setting](settings.md). The local user has no quotas and no limit on calls at the
        same time.
        """,
    ]
    for title, rows in {**limits_of_content.SECTIONS, **limits_of_servers.SECTIONS}.items():
        parts += [f"## {title}", table(("what", "limit", "set by", "beyond it"), rows)]
    return page("Limits", *parts, _NOTES)
