"""The page of scopes: what each grants, which tools need it, and the quotas of keys."""

from collections.abc import Iterable, Iterator

from dcf.core.access.model import FOR_OTHERS, MEANINGS, Scope
from dcf.core.access.quotas import BOUNDS, DEFAULTS, Bound
from dcf.tools.mcp.selection import PROFILES, documented_tools
from deploy.reference.markdown import page, table
from deploy.reference.settings import amount


def render() -> str:
    """Return the page."""
    grants = [(f"`{scope}`", meaning) for scope, meaning in MEANINGS.items()]
    tools = [(f"`{scope}`", toolset, names) for scope in Scope for toolset, names in _tools_of(scope)]
    profiles = [(f"`{name}`", str(len(names))) for name, names in PROFILES.items()]
    quotas = [
        (f"`{name}`", bound.meaning, amount(name, getattr(DEFAULTS, name)), _range(name, bound))
        for name, bound in BOUNDS.items()
    ]
    return page(
        "Scopes",
        "A scope is a permission of an API key. No scope includes another. How keys are made and bound: "
        "[API keys](../operating/api-keys.md).",
        table(("scope", "grants"), grants),
        "The local user (stdio, and commands on the same Redis) has every scope but "
        f"{_named(sorted(FOR_OTHERS))}, which `DCF_ALLOW_OPERATOR=1` adds.",
        "## Tools by scope",
        table(("scope", "toolset", "tools"), tools),
        "## Profiles",
        """
        A profile (`DCF_PROFILE`) says which tools a client is shown, and does not change what it may call. The profiles
        of each tool: [tools](tools.md).
        """,
        table(("profile", "tools"), profiles),
        "## Quotas",
        "`dcf keys add --quota NAME=N` gives a key a quota of its own. The defaults are [settings](settings.md).",
        table(("quota", "counts", "default", "values"), quotas),
    )


def _range(name: str, bound: Bound) -> str:
    return f"{amount(name, bound.least)} to {amount(name, bound.most)}"


def _tools_of(scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the toolsets with the tools that need the scope; a scope without such tools has one row."""
    tools = [spec for spec in documented_tools() if spec.scope is scope]
    for toolset in dict.fromkeys(spec.toolset for spec in tools):
        yield toolset, _named(spec.name for spec in tools if spec.toolset == toolset)
    if not tools:
        yield "", "no tool alone"


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
