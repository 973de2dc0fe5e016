"""Jobs of DeepWork in the catalogue: those of a session, of a project, and for everybody."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from anyio import to_thread

from dcf.profiles.deepwork.jobs import DeepWorkJob, JobWorkflow, document_of, read_job
from dcf.profiles.native_calls import Tolerated, listed
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip

NOT_THERE: Final = "not_in_catalogue"
"""dcf's code where the catalogue has no such definition."""


async def definition_of(native: Native, name: str, session: str) -> Json:
    """Return what is kept of a job, as the session sees it: its own comes first, then the project's."""
    stored_job = await native.call("get_definition", kind="job", name=name, session=session, project=native.project)
    return stored_job["definition"].get("content")


async def job_of(native: Native, name: str, session: str) -> DeepWorkJob:
    """Return a job; raise NotDone if there is none, or it is wrong."""
    content = await definition_of(native, name, session)
    if isinstance(content, str):
        return read_job(await to_thread.run_sync(document_of, content))
    document = content if isinstance(content, Mapping) else {}
    return read_job(document["job"] if isinstance(document.get("job"), Mapping) else document)


async def named_job(native: Native, name: str, session: str) -> DeepWorkJob:
    """Return the job that an agent names; raise NotDone with the names of all jobs if there is none."""
    with Tolerated(NOT_THERE):
        return await job_of(native, name, session)
    known = ", ".join(sorted([name async for name in names_of_jobs(native, session)]))
    hint = f"The jobs are: {known}." if known else "There is none yet: a job is a job.yml in .deepwork/jobs/NAME."
    raise refuse("invalid_argument", f"There is no job '{clip(name)}'.", hint, "job_name")


async def names_of_jobs(native: Native, session: str) -> AsyncIterator[str]:
    """Yield the names of the jobs that a session sees, each once."""
    seen: set[str] = set()
    scope = {"session": session, "project": native.project}
    async for definition in listed(
        native, "search_definitions", "definitions", kind="job", detail="name", limit=100, **scope
    ):
        name = str(definition["name"])
        if name not in seen:
            seen.add(name)
            yield name


def workflow_of(job: DeepWorkJob, name: str) -> JobWorkflow:
    """Return a workflow of a job; raise NotDone with the names of its workflows if it has no such one."""
    if name in job.workflows:
        return job.workflows[name]
    known = ", ".join(job.workflows)
    message = f"Job '{job.name}' has no workflow '{clip(name)}'."
    raise refuse("invalid_argument", message, f"Its workflows are: {known}.", "workflow_name")


def shown_of(job: DeepWorkJob) -> dict[str, Json]:
    """Return a job as it is listed."""
    shown = [{"name": workflow.name, "summary": workflow.summary} for workflow in job.workflows.values()]
    return {"name": job.name, "summary": job.summary, "description": job.description, "workflows": shown}
