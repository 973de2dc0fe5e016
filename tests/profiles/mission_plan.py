"""The workflow of the document of Mission Control, with both of its phases, as files of a project."""

from typing import Any, Final

WORKFLOW_MD: Final = """# Shop

```yaml
name: shop
phases:
  - id: phase-1
    number: 1
    name: Analysis
    agents:
      - type: analyzer
        subagent_type: "general-purpose"
        scope: src/catalogue/**
      - type: auditor
        subagent_type: "general-purpose"
        scope: src/prices/**
    parallel: true
    outputs:
      - report.md
    completion: all agents success

  - id: phase-2
    number: 2
    name: Change
    requires: 1
    checkpoint: human
```
"""

DEFINITION_MD: Final = """# Definition

## Objectives

Sell in zloty.

## Scope

The shop.

## Constraints

No new service.
"""

AGENTS: Final[dict[str, Any]] = {"analyzer": None, "auditor": ["Read", "Write"]}

FILES: Final[dict[str, Any]] = {"workflow": WORKFLOW_MD, "definition": DEFINITION_MD, "agents": AGENTS}
