"""A polling loop and a callback with a heartbeat in one flow; `polling.py` and `handover.py` have one of them each."""

from dataclasses import dataclass

from dcf import StateTimeout, flow, parallel, sleep, task, token


@dataclass
class Build:
    id: str
    status: str
    minutes: int = 0


class BuildFailed(Exception):
    pass


@task(retry=3)
def start_build(repo: str) -> Build:
    return Build(f"{repo}-1", "running")


@task(retry=3)
def poll(build_id: str, polls: int) -> Build:
    return Build(build_id, "done" if polls > 1 else "running", polls)


@task(callback=True, timeout=86400, heartbeat=3600)
def deploy(build_id: str, token: str) -> str:
    return f"{build_id} is sent with {len(token) > 0}"


@task
def notify(channel: str, text: str) -> None:
    return None


@flow
def release(repo: str) -> str:
    """Build, wait until it is done, deploy."""
    build = start_build(repo)
    polls = 0
    while build.status == "running" and polls < 20:
        sleep(30)
        polls += 1
        build = poll(build.id, polls)
    if build.status != "done":
        raise BuildFailed(f"{build.id} is {build.status} after {polls} polls")
    try:
        url = deploy(build.id, token())
    except StateTimeout:
        notify("releases", f"{repo} was not deployed within a day")
        return "late"
    parallel(notify("releases", f"{repo} is at {url}"), notify("builds", f"{build.minutes} minutes"))
    return url
