"""Methods of the clients for the verbs of the toolset authoring. Derived from their descriptions."""

from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.verbs.records.authoring import WrittenManifests, WrittenStubConfig


def csv_to_manifests(
    *,
    skills_csv_path: str = "skills.csv",
    refs_csv_path: str = "skill_tool_refs.csv",
    mcp_tools_csv_path: str = "mcp_tools.csv",
    out_dir: str | None = None,
    catalog_path: str | None = None,
) -> Conversation[WrittenManifests]:
    """Write skill manifests and their catalogue from CSV tables of skills, tool references and tools.

    Everything is checked first: with any problem nothing is written, and `problems` lists them all by file, line and
    column. Manifests that an earlier call wrote and the tables no longer have are removed.
    """
    return call_tool(
        WrittenManifests,
        "csv_to_manifests",
        skills_csv_path=skills_csv_path,
        refs_csv_path=refs_csv_path,
        mcp_tools_csv_path=mcp_tools_csv_path,
        out_dir=out_dir,
        catalog_path=catalog_path,
    )


def csv_to_stub_config(
    *, mcp_tools_csv_path: str = "mcp_tools.csv", mcp_cases_csv_path: str = "mcp_cases.csv", out_path: str | None = None
) -> Conversation[WrittenStubConfig]:
    """Write the configuration of the stub MCP server from CSV tables of tools and cases.

    With any problem nothing is written, and `problems` lists them all. A running stub loads the new file automatically.
    """
    return call_tool(
        WrittenStubConfig,
        "csv_to_stub_config",
        mcp_tools_csv_path=mcp_tools_csv_path,
        mcp_cases_csv_path=mcp_cases_csv_path,
        out_path=out_path,
    )
