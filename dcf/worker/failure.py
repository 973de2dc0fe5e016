"""How a task function or an agent says that it failed. Imports nothing but the errors, so that any process can."""

from dcf.errors import DcfError


class TaskFailed(DcfError):
    """Raise it in a task function to fail the state, with an ASL error name and a cause in words."""

    code = "task_failed"
    default_hint = "The state's Catch, if any, decides what follows; otherwise the run fails with this error."

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(cause)
        self.error = error
        self.cause = cause

    def __str__(self) -> str:
        """Return the cause: what follows is for the workflow to say, not for the function."""
        return self.cause
