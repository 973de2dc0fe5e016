"""Skill manifests for tests."""

from typing import Any

Document = dict[str, Any]


def tool(name: str, server: str = "orders", **more: Any) -> Document:
    definition = {"type": "mcp_server", "serverId": server, "toolName": name}
    return {"toolName": name, "description": f"Does {name}.", "definition": definition} | more


def source(ident: str, text: str) -> Document:
    content = {"type": "text_content", "text": text}
    return {"dataSourceId": ident, "destination": "archival_memory", "content": content}


def manifest(name: str = "check.order", version: str = "1.0.0", **more: Any) -> Document:
    """A valid manifest with one tool and one short text."""
    return {
        "manifestApiVersion": "v2.0.0",
        "skillPackageId": None,
        "manifestId": f"skill.{name}@{version}",
        "skillName": name,
        "skillVersion": version,
        "skillDirectives": f"Use {name} with care.",
        "requiredTools": [tool("verify")],
        "requiredDataSources": [source("rules", "No orders over 10000.")],
    } | more


REGISTRY: Document = {
    "servers": {
        "orders": {"transport": "streamable_http", "endpoint": "http://stub.example:8765", "path": "/mcp"},
        "pricing": {"transport": "streamable_http", "endpoint": "http://stub.example:8765", "path": "/pricing/mcp"},
    }
}
