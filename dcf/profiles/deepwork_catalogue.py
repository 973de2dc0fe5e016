"""Jobs of DeepWork in the catalogue: those of a session, of a project, and for everybody."""

from collections.abc import Mapping
from typing import Any

from dcf.profiles.deepwork_jobs import Job, JobWorkflow, read_job
from dcf.profiles.profile import Native, NotDone, refuse
from dcf.values.json_text import Json


async def definition_of(native: Native, name: str, session: str) -> Mapping[str, Any]:
    """Return what is kept of a job, as the session sees it."""
    found = await native.call(
        "get_definition", kind="job", name=name, session=session, project=native.project, redact=None
    )
    content = found["definition"].get("content")
    return content if isinstance(content, Mapping) else {}


async def job_of(native: Native, name: str, session: str) -> Job:
    """Return a job; raise NotDone if there is none, or it is wrong."""
    content = await definition_of(native, name, session)
    return read_job(content["job"] if isinstance(content.get("job"), Mapping) else content)


def readable(content: Json) -> Job | None:
    """Return a job of the catalogue; None for one that is none, which nobody can start."""
    try:
        return read_job(content["job"] if isinstance(content.get("job"), Mapping) else content)
    except (NotDone, AttributeError):
        return None


def workflow_of(job: Job, name: str) -> JobWorkflow:
    """Return a workflow of a job; where it has only one, any name means that."""
    if name in job.workflows:
        return job.workflows[name]
    if len(job.workflows) == 1:
        return next(iter(job.workflows.values()))
    known = ", ".join(job.workflows)
    raise refuse("invalid_argument", f"Job '{job.name}' has no such workflow.", f"It has: {known}.", "workflow_name")


def shown_of(job: Job) -> dict[str, Json]:
    """Return a job as it is listed."""
    shown = [{"name": one.name, "summary": one.summary} for one in job.workflows.values()]
    return {"name": job.name, "summary": job.summary, "description": job.description, "workflows": shown}
