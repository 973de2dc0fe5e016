"""A polling loop: the job poller of the Step Functions documentation, its states in `definitions/polling.json`."""

from dataclasses import dataclass

from dcf import flow, sleep, task


@dataclass
class Look:
    status: str
    number: int


class JobFailed(Exception):
    pass


@task
def submit_job(name: str) -> str:
    return f"job-{name}"


@task
def look_at_job(job: str, looks: int) -> Look:
    over = "FAILED" if "bad" in job else "SUCCEEDED"
    return Look(over if looks > 1 else "RUNNING", looks + 1)


@task
def fetch_result(job: str) -> str:
    return f"the result of {job}"


@flow(timeout=3600)
def poll_job(name: str, wait_s: int) -> str:
    """Submit a job, look at it until it has ended, fetch its result."""
    job = submit_job(name)
    look = Look("RUNNING", 0)
    while look.status == "RUNNING":
        sleep(wait_s)
        look = look_at_job(job, look.number)
    if look.status == "FAILED":
        raise JobFailed(f"{job} failed")
    return fetch_result(job)
