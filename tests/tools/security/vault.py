"""A site full of credentials, each with a mark by which it is found wherever it turns up, and a whole session on it."""

import json
import logging
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.tools.mcp.server import build_http_app
from dcf.verbs.examples import smallest_call
from dcf.verbs.registry import TOOLS
from tests.support.agents.skill_manifests import manifest, tool
from tests.support.paths import ROOT
from tests.support.redis.redis_contents import everything_in
from tests.support.redis.servers import redis_server
from tests.tools.calls import serving

SHIPPED: Final = ROOT / "skills_src"
_CLIENTS: Final = ("mcp.client", "httpx", "httpcore")
BUNDLE: Final = {
    "agents": [{"id": "agent-0", "name": "worker"}],
    "blocks": [],
    "tools": [],
}
WORKFLOW: Final[dict[str, Any]] = {
    "workflow_id": "vault",
    "workflow_name": "Canaries",
    "version": "1.0.0",
    "af_imports": [{"uri": "worker.af"}],
    "skill_imports": [{"uri": "check.json"}],
    "asl": {
        "StartAt": "A",
        "States": {
            name: {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}}}
            | ({"End": True} if name == "C" else {"Next": chr(ord(name) + 1)})
            for name in "ABC"
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """The site. `marks` are what must be seen nowhere; `lease` is the token that its only worker chooses."""

    application: Application
    url: str
    place: Path
    redis_port: int
    redis_password: str
    api_key: str
    marks: Mapping[str, str]
    lease: str = field(default_factory=lambda: f"lease-{secrets.token_hex(16)}")

    def kept(self) -> str:
        """All that is in Redis and in the files, but for where a lease's token has to be."""
        connections = Connections(open_pool(self.application.redis_url))
        try:
            lines = everything_in(connections).splitlines()
        finally:
            connections.close()
        tokens = [line for line in lines if self.lease in line]
        allowed = tuple(f"cp:wf:{run}:{kind}" for run in ("vault", "second") for kind in ("state:", "claims"))
        strange = [line for line in tokens if not line.startswith(allowed)]
        assert strange == [], "a lease's token is outside of its state"
        written = [path.read_text("utf-8", "replace") for path in self.place.rglob("*") if path.is_file()]
        return "\n".join([*lines, *written])

    def seen_in(self, text: str) -> list[str]:
        """Name the credentials that a text shows."""
        return [name for name, mark in self.marks.items() if mark in text]


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that servers logged, with the traces of exceptions; the client of a test runs in the same process."""
    formatter = logging.Formatter("%(name)s %(message)s")
    return "\n".join(formatter.format(record) for record in caplog.records if not record.name.startswith(_CLIENTS))


@contextmanager
def open_vault(place: Path, patch: pytest.MonkeyPatch) -> Iterator[Vault]:
    """A Redis with a password, a server that asks for keys, a registry with secrets, keys in the environment."""
    names = ("redis password", "letta key", "worker key", "header", "url")
    marks = {name: secrets.token_hex(16) for name in names}
    for variable, name in {"LETTA_API_KEY": "letta key", "VAULT_HEADER": "header", "VAULT_URL": "url"}.items():
        patch.setenv(variable, marks[name])
    _furnish(place)
    with ExitStack() as stack:
        (place.parent / "redis").mkdir(exist_ok=True)
        password = marks["redis password"]
        port = stack.enter_context(redis_server(place.parent / "redis", "--requirepass", password))
        application = stack.enter_context(open_application(_settings(place, port, marks)))
        made = application.keys.create(tuple(Scope), agent_id=None, label=None, life_s=None)
        url = stack.enter_context(serving(build_http_app(application)))
        yield Vault(
            application=application,
            url=url,
            place=place,
            redis_port=port,
            redis_password=password,
            api_key=made.text,
            marks=marks | {"api key": made.text.split("_", 2)[2]},
        )


def _settings(place: Path, port: int, marks: Mapping[str, str]) -> Settings:
    return Settings.model_validate(
        {
            "redis_url": f"redis://:{marks['redis password']}@127.0.0.1:{port}/0",
            "api_key": f"dcf_{secrets.token_hex(6)}_{marks['worker key']}",
            "workflows_dir": place / "workflows",
            "agents_dir": place / "agents",
            "manifests_dir": place / "manifests",
            "skills_catalog": place / "catalog.json",
            "stub_config": place / "stub.json",
            "skills_src_dir": place / "sources",
            "skill_registry": place / "registry.json",
            "files_write": (place / "files",),
        }
    )


def _furnish(place: Path) -> None:
    for name in ("workflows", "agents", "manifests", "files"):
        (place / name).mkdir(parents=True)
    shutil.copytree(SHIPPED, place / "sources")
    server = {"endpoint": "http://vault.example/${VAULT_URL}/mcp", "headers": {"Authorization": "${VAULT_HEADER}"}}
    documents = {
        "agents/worker.af": BUNDLE,
        "manifests/check.json": manifest(requiredTools=[tool("verify", server="vault")]),
        "registry.json": {"servers": {"vault": server}},
        "catalog.json": {"skills": [{"path": "manifests/check.json"}]},
    }
    for name, document in documents.items():
        (place / name).write_text(json.dumps(document))


def others(lease: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls of the tools that the session below leaves out, on its run and its state."""
    details = {"workflow_id": "vault", "state": "A", "agent_id": "worker-1", "owner_agent_id": "worker-1"}
    details["lease_token"] = lease
    known = {name for name, _ in session(lease, {})}
    left = ((name, smallest_call(spec)) for name, spec in TOOLS.items() if name not in known)
    return [(name, call | {argument: details[argument] for argument in call.keys() & details}) for name, call in left]


def session(lease: str, workers: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Right calls, in an order in which each has something to do; `workers` are filled in on the way.

    A tool with a token, a secret or much to tell belongs in here; every other one is called as `others` does.
    """
    run, state = {"workflow_id": "vault"}, {"workflow_id": "vault", "state": "A"}
    holding, me = state | {"lease_token": lease}, workers.get("A", "worker-1")
    skill = {"skill_json": "skill://check.order@1.0.0", "agent_id": me}
    note = {"redis_key": "doc:note"}
    return [
        ("csv_to_manifests", {"out_dir": "made", "catalog_path": None}),
        ("csv_to_stub_config", {}),
        ("validate_workflow", {"workflow_json": WORKFLOW}),
        ("create_workflow_control_plane", {"workflow_json": WORKFLOW, "planner_agent_id": "planner-1", **run}),
        ("create_worker_agents", run),
        ("notify_next_worker_agent", run),
        ("await_workflow_event", {"agent_id": me, "timeout_s": 0, "lease": False}),
        ("resolve_agent_name_to_id", {"agent_name": "wf-vault-A"}),
        ("get_my_assignment", {"agent_id": me, **run}),
        ("claim_ready_state", run | {"owner_agent_id": me, "lease_token": lease}),
        ("release_state_lease", holding),
        ("notify_if_ready", state),
        ("acquire_state_lease", state | {"owner_agent_id": me, "lease_token": f"{lease}-2"}),
        ("renew_state_lease", state | {"lease_token": f"{lease}-2"}),
        ("get_skillset", {}),
        ("get_skillset_from_catalog", {}),
        ("validate_skill_manifest", {"skill_json": "skill://check.order@1.0.0"}),
        ("load_skill", skill),
        ("get_my_assignment", {"agent_id": me, **run}),
        ("json_read", {"redis_key": "cp:wf:vault:state:A"}),
        ("read_workflow_control_plane", run | {"compute_readiness": True}),
        ("explain_run", run),
        ("read_run_events", run),
        ("export_run", run),
        ("unload_skill", {"manifest_id": "skill.check.order@1.0.0", "agent_id": me}),
        (
            "update_workflow_control_plane",
            state | {"lease_token": f"{lease}-2", "new_status": "done", "output_json": 1},
        ),
        ("pause_run", run | {"reason": "lunch"}),
        ("resume_run", run),
        ("resolve_state", run | {"state": "B", "skip": True, "request_id": "by hand"}),
        ("json_create", note | {"initial_json": {"n": 1, "l": [], "o": {}}}),
        ("json_set", note | {"path": "$.a.b", "value_json": 1}),
        ("json_ensure", note | {"path": "$.c", "default_json": 1}),
        ("json_append", note | {"path": "$.l", "value_json": 1}),
        ("json_merge", note | {"path": "$.o", "patch_json": {"x": 1}}),
        ("json_increment", note | {"path": "$.n", "delta": 1}),
        ("json_copy", note | {"from_path": "$.a", "to_path": "$.z"}),
        ("json_move", note | {"from_path": "$.z", "to_path": "$.y"}),
        ("json_delete", note | {"path": "$.y"}),
        ("create_directory", {"path": "d"}),
        ("write_file", {"path": "d/f", "content": "text"}),
        ("read_file", {"path": "d/f"}),
        ("list_directory", {"path": "d"}),
        ("move_path", {"source": "d/f", "destination": "d/g"}),
        ("delete_path", {"path": "d", "recursive": True}),
        ("remove_tool_return_limits", {"agent_id": me}),
        ("delete_agent", {"agent_id": workers.get("C", "worker-3")}),
        ("cancel_run", run),
        ("retry_run", run | {"reason": "mended", "request_id": "again"}),
        ("rerun", run | {"from_state": "B", "new_workflow_id": "vault-2"}),
        ("start_run", {"workflow_json": WORKFLOW, "workflow_id": "vault-3", "tags_json": ["nightly"]}),
        ("finalize_workflow", run),
    ]
