"""Jobs of DeepWork in the catalogue: those of a session, of a project, and for everybody."""

from collections.abc import AsyncIterator, Mapping

from anyio import to_thread

from dcf.profiles.deepwork.jobs import DeepWorkJob, JobWorkflow, document_of, read_job
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json


async def definition_of(native: Native, name: str, session: str) -> Json:
    """Return what is kept of a job, as the session sees it: its own comes first, then the project's."""
    found = await native.call("get_definition", kind="job", name=name, session=session, project=native.project)
    return found["definition"].get("content")


async def job_of(native: Native, name: str, session: str) -> DeepWorkJob:
    """Return a job; raise NotDone if there is none, or it is wrong."""
    content = await definition_of(native, name, session)
    if isinstance(content, str):
        return read_job(await to_thread.run_sync(document_of, content))
    document = content if isinstance(content, Mapping) else {}
    return read_job(document["job"] if isinstance(document.get("job"), Mapping) else document)


async def names_of_jobs(native: Native, session: str) -> AsyncIterator[str]:
    """Yield the names of the jobs that a session sees, each once."""
    seen: set[str] = set()
    cursor: Json = None
    while True:
        page = await native.call(
            "search_definitions",
            kind="job",
            session=session,
            project=native.project,
            detail="name",
            limit=100,
            cursor=cursor,
        )
        for name in (str(one["name"]) for one in page["definitions"]):
            if name not in seen:
                seen.add(name)
                yield name
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def workflow_of(job: DeepWorkJob, name: str) -> JobWorkflow:
    """Return a workflow of a job; where it has only one, any name means that."""
    if name in job.workflows:
        return job.workflows[name]
    if len(job.workflows) == 1:
        return next(iter(job.workflows.values()))
    known = ", ".join(job.workflows)
    raise refuse("invalid_argument", f"Job '{job.name}' has no such workflow.", f"It has: {known}.", "workflow_name")


def shown_of(job: DeepWorkJob) -> dict[str, Json]:
    """Return a job as it is listed."""
    shown = [{"name": one.name, "summary": one.summary} for one in job.workflows.values()]
    return {"name": job.name, "summary": job.summary, "description": job.description, "workflows": shown}
