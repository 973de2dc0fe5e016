"""The calls of the profile `deepwork` that need the agent's disk: jobs, files of outputs, branch and review.

The jobs in `.deepwork/jobs/*/job.yml` are registered for the session before they are listed or started. A session is
that of the directory and the client (`ClientSession`), so that no two agents share a session. A branch is made for a
workflow that is not within another, unless another client works on a branch in the same worktree. If it cannot be made,
the answer says why and calls it a suggestion. If a person started the server for this directory (`Reviewing`), the
command of the project's quality gate reviews the outputs of a step.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from dcf.authoring.yaml_text import read_yaml
from dcf.errors import DcfError, InvalidArgument
from dcf.local import file_reading, git, worktree
from dcf.local.deepwork.client_session import ClientSession
from dcf.local.deepwork.reviews import Again, Reviewing, is_open
from dcf.local.deepwork.tool_calls import ProfileCalls
from dcf.local.git import GitRefused
from dcf.local.working_root import WorkingDirectory
from dcf.values.json_text import Json, dump
from dcf.values.located import Report
from dcf.values.records import record

PROFILE: Final = "deepwork"
MOST_JOBS: Final = 100
_JOBS: Final = ".deepwork/jobs"
_FIRST_JOB: Final = (
    f"Write the first job to {_JOBS}/notes/job.yml: {{name: notes, summary: Notes, workflows: [{{name: write, summary: "
    "Write, steps: [draft]}], steps: [{id: draft, instructions: Write draft.md., outputs: [draft.md], quality_criteria:"
    " [It has a title.]}]}"
)
_LONGEST: Final = 256 * 1024
_SURE_S: Final = 20.0
"""A client that waits longer may have given up, so that it has no answer."""
_WITH_JOBS: Final = frozenset({"get_workflows", "start_workflow"})
_TOOLS: Final = _WITH_JOBS | {
    *("finished_step", "abort_workflow", "go_to_step", "register_session_job", "get_session_job"),
}


def is_one(profile: str | None, tool: str) -> bool:
    """Return True for a call that is looked into here."""
    return profile == PROFILE and tool in _TOOLS


@record(frozen=True, slots=True)
class DeepWorkCall:
    """One call of a tool of the profile. Without a directory it is passed on as it is.

    `problems` has what is wrong with jobs of the project, once the call is prepared. `client`: whose call it is.
    """

    tool: str
    arguments: Mapping[str, Json]
    place: WorkingDirectory | None
    server: ProfileCalls
    reviewing: Reviewing | None = None
    problems: list[str] = field(default_factory=list)
    client: ClientSession = field(default_factory=ClientSession)
    begun_at: float = field(default_factory=time.monotonic)

    async def prepared(self) -> dict[str, Json]:
        """Return the arguments that are sent; raise InvalidArgument for a missing file."""
        arguments = dict(self.arguments)
        if self.place is None:
            return arguments
        root = self.place.path
        session = arguments["session_id"] = await self._session(root)
        if self.tool in _WITH_JOBS:
            await self._register(root, session)
        if self.tool == "start_workflow" and self.reviewing is not None:
            arguments["reviewed_by"] = self.reviewing.reviewed_by
        if self.tool == "finished_step":
            files = await anyio.to_thread.run_sync(file_reading.all_found, root, _paths(arguments.get("outputs")))
            arguments["file_hashes"] = {file.path: file.as_json() for file in files}
            arguments["reports"] = self.client.last_step(session)
            if self.reviewing is not None and self.reviewing.gate is not None:
                arguments["review_again"] = True
        return arguments

    async def reviewed(self, result: dict[str, Any], again: Again) -> dict[str, Any]:
        """Return the result of the call once the project's own review has judged the step, if that is waited for."""
        if self.place is None or self.reviewing is None or not is_open(result):
            return result
        return await self.reviewing.judged(self.place.path, result, again)

    async def finished(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result with what was done here: the branch of a workflow that was started, jobs that are wrong."""
        answer = result.get("structuredContent")
        if result.get("isError"):
            return self._with_problem(result)
        if not isinstance(answer, dict) or self.place is None:
            return result
        problems = [*self.problems, *(answer.get("problems") or ())]
        more: dict[str, Json] = {"root": str(self.place.path)} | ({"problems": problems} if problems else {})
        begun = answer.get("begin_step")
        if isinstance(begun, dict):
            is_outermost = len(answer.get("stack") or ()) <= 1
            name, makes = str(begun.get("branch_name")), self.tool == "start_workflow" and is_outermost
            look = partial(_made, client=self.client) if makes else partial(_seen, is_outermost=is_outermost)
            status = await anyio.to_thread.run_sync(look, self.place, name)
            more["begin_step"] = {**begun, "branch_status": status}
        completed = {**answer, **more}
        if time.monotonic() - self.begun_at <= _SURE_S:
            self.client.note(await self._session(self.place.path), completed)
        return {**result, "content": [{"type": "text", "text": dump(completed)}], "structuredContent": completed}

    async def _session(self, root: Path) -> str:
        """Return the session of the call: the one it names, or its client's."""
        named = self.arguments.get("session_id")
        return str(named) if named is not None else await anyio.to_thread.run_sync(self.client.id_in, root)

    def _with_problem(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return a refusal with what is wrong with the job of the call, which the server cannot know."""
        job = f"{self.arguments.get('job_name')}: "
        problem = next((problem for problem in self.problems if problem.startswith(job)), None)
        if self.tool != "start_workflow" or problem is None:
            return result
        return {**result, "content": [{"type": "text", "text": f"{_text(result)} Of this job: {problem}"}]}

    async def _register(self, root: Path, session: str) -> None:
        """Register the jobs of the project; note what is wrong with those that could not be."""
        jobs, problems = await anyio.to_thread.run_sync(jobs_of, root)
        self.problems.extend(problems)
        for name, text in jobs.items():
            arguments = {"job_name": name, "job_definition_yaml": text, "session_id": session}
            sent = {"name": "register_session_job", "arguments": arguments, "_meta": dict(self.server.meta or {})}
            result = await self.server.passed_on(sent)
            answer = result.get("structuredContent") or {}
            wrong = answer.get("error") or (_text(result) if result.get("isError") else None)
            self.problems.extend([f"{name}: {wrong}"] if wrong else [])


def jobs_of(root: Path) -> tuple[dict[str, str], list[str]]:
    """Return the jobs of a project as text with their instructions, and what is wrong with others."""
    jobs: dict[str, str] = {}
    problems: list[str] = []
    folder = root / _JOBS
    if not folder.is_dir():
        problems.append(f"There is no directory {_JOBS} below {root}. {_FIRST_JOB}")
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    for name in names[:MOST_JOBS]:
        if (folder / name / "job.yml").is_file():
            try:
                document = _document(root, f"{_JOBS}/{name}")
                job = str(document.get("name", name))
                if job in jobs:
                    problems.append(f"{name}: another directory has a job '{job}'.")
                else:
                    jobs[job] = json.dumps(document, ensure_ascii=False, allow_nan=False)
            except DcfError as error:
                problems.append(f"{name}: {error.message}")
    if len(names) > MOST_JOBS:
        problems.append(f"Only the first {MOST_JOBS} jobs are served.")
    return jobs, problems


def _document(root: Path, folder: str) -> dict[str, Any]:
    report = Report()
    yaml_document = read_yaml(_file(root, f"{folder}/job.yml"), "job.yml", report)
    document = None if yaml_document is None else yaml_document.plain()
    if not isinstance(document, dict):
        problem = report.problems[0] if report.problems else "it is no mapping"
        raise InvalidArgument(f"job.yml cannot be read: {problem}", "Correct the file.")
    steps = document.get("steps")
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict) and isinstance(step.get("instructions_file"), str) and "instructions" not in step:
            step["instructions"] = _file(root, f"{folder}/{step['instructions_file']}")
    return document


def _file(root: Path, path: str) -> str:
    readable_file = file_reading.found(root, path)
    if readable_file.size > _LONGEST:
        raise InvalidArgument(f"'{path}' is longer than {_LONGEST} bytes.", "Shorten it.")
    return file_reading.content(root, readable_file).decode("utf-8", "replace")


def _made(place: WorkingDirectory, name: str, client: ClientSession) -> str:
    """Make the branch; say whether it was created, was current already, or why it is only suggested."""
    try:
        branch = git.facts(place).branch or ""
        if branch != name and branch.startswith(f"{PROFILE}/") and not client.is_alone_in(place.path):
            return (
                f"suggested: Another client works in this directory, on {branch}. A worktree of its own has a branch."
            )
        made = worktree.make_branch(place, name)
    except GitRefused as refused:
        return f"suggested: {refused.refusal.message}"
    return "created" if made["created"] else "current"


def _seen(place: WorkingDirectory, name: str, is_outermost: bool) -> str:
    """Say whether the worktree is on the branch, or why it is only suggested."""
    try:
        branch = git.facts(place).branch
    except GitRefused as refused:
        return f"suggested: {refused.refusal.message}"
    if branch == name:
        return "current"
    here = f"The worktree is on {branch or 'no branch'}."
    if is_outermost:
        return f"suggested: {here}"
    return f"suggested: The workflow runs within another one, whose branch it stays on. {here}"


def _paths(outputs: Json) -> list[str]:
    """Return the paths of outputs: a list, or by argument as later versions send them."""
    values = list(outputs.values()) if isinstance(outputs, Mapping) else [outputs]
    named = [path for value in values for path in (value if isinstance(value, list) else [value])]
    return [name for name in named if isinstance(name, str)]


def _text(result: Mapping[str, Any]) -> str:
    return " ".join(str(part.get("text")) for part in result.get("content") or ())
