"""Workers whose calls come to servers of two versions by turns, as while a deployment is replaced server by server."""

import io
import os
import random
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.case_rules import a_version_knows_what_the_other_did
from lab.deployments import Deployment
from lab.evidence import read_meta
from lab.extras import Bench, Calls, Errands

_OLD: Final = os.environ.get("DCF_LAB_OLD", "5e103893")
"""The commit of the older version."""

_GIT: Final = shutil.which("git") or "git"
_ROOT: Final = Path(__file__).resolve().parents[1]
_SHIPPED: Final = ("dcf", "schemas", "workflows", "agents", "skills_src")
_STATES: Final = {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}
_WORKFLOW: Final = {"workflow_name": "lab-mixed", "asl": {"StartAt": "A", "States": _STATES}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """The answers to a worker whose run ended well or not. `odd` are answers that its calls must not get."""

    odd: tuple[str, ...]
    status: str | None


def checked_out(home: Path, commit: str = _OLD) -> Path:
    """Write a version, by default the older one, into a directory."""
    text = subprocess.run((_GIT, "archive", commit, *_SHIPPED), cwd=_ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(text)) as files:
        files.extractall(home, filter="data")
    return home


def why_not(commit: str = _OLD) -> str | None:
    """Return why a version, by default the older one, is not at hand; None if it is."""
    request = (_GIT, "cat-file", "-e", f"{commit}^{{commit}}")
    is_there = subprocess.run(request, cwd=_ROOT, check=False, capture_output=True).returncode == 0
    return None if is_there else f"this checkout has no commit {commit}"


class TwoVersions(Errands[Mixed]):
    """A worker takes and completes the Tasks of a run; each call goes to a server of one version or the other."""

    rules = (a_version_knows_what_the_other_did,)

    def __init__(self, bench: Bench, deployment: Deployment) -> None:
        self._deployment = deployment
        super().__init__(bench)

    def errand(self, seed: int) -> Mixed:
        """Do the Tasks of a run; after its end, repeat each completion at the newer version."""
        run, luck, done = f"lab-mixed-{seed}", random.Random(f"mixed {seed}"), list[Mapping[str, Any]]()
        with ExitStack() as stack:
            versions = [stack.enter_context(self._deployment.calls(url)) for url in self._deployment.urls]
            wish = {"workflow_id": run, "agents_map_json": {"A": "ann", "B": "ann"}}
            luck.choice(versions).surely("create_workflow_control_plane", workflow_json=_WORKFLOW, **wish)
            luck.choice(versions).surely("notify_next_worker_agent", workflow_id=run)
            for state in ("A", "B"):
                done.append(_completion(luck.choice(versions), run, state))
                luck.choice(versions).surely(_COMPLETE, **done[-1])
            odd = [text for subject in done for text in _odd(versions[0], subject)]
        return Mixed(odd=tuple(odd), status=read_meta(self._deployment.client(), run).get("status"))


_COMPLETE: Final = "update_workflow_control_plane"


def _completion(calls: Calls, run: str, state: str) -> Mapping[str, Any]:
    """Take a state, and return how it is completed."""
    token = uuid.uuid4().hex
    place = {"workflow_id": run, "state": state, "lease_token": token}
    calls.surely("acquire_state_lease", **place, owner_agent_id="ann", lease_ttl_s=300)
    return {**place, "new_status": "succeeded", "output_json": {"done": state}}


def _odd(calls: Calls, subject: Mapping[str, Any]) -> list[str]:
    """Repeat a completion; what is wrong with the answer."""
    code = calls.surely(_COMPLETE, **subject)["code"]
    return [] if code == "ok" else [f"the completion of {subject['state']} was repeated, and answered {code}"]
