"""The Redis keys of projects. None belongs to a run.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:project:<id>` | JSON | put_project | until it is deleted |
| `cp:idx:projects` | sorted set | the same, and creating a run: all projects by when they were last used | with them |
| `cp:idx:projects:of:<author>` | sorted set | put_project: those that an author created | with them |
| `cp:idx:projects:path:<digest>` | hash | the same: projects with this path, by machine ("" is any) | with them |
"""

import hashlib
from typing import Final

PROJECTS: Final = "cp:idx:projects"


def project(project_id: str) -> str:
    """Return the key of a project's document."""
    return f"cp:idx:project:{project_id}"


def projects_of(author: str) -> str:
    """Return the key of the index of an author's projects."""
    return f"{PROJECTS}:of:{author}"


def projects_at(path: str) -> str:
    """Return the key of the projects that have a path."""
    return f"{PROJECTS}:path:{hashlib.sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()}"
