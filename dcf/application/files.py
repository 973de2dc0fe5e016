"""The directory in which the local user may write files where no operator has configured any.

The local user started the process, so it gains nothing that it could not do itself. Callers with keys get no default.
"""

from pathlib import Path

from dcf.files.tree import FileTree
from dcf.settings.process import Settings


def local_directory(settings: Settings) -> Path:
    """Return the directory of the local user, without making it: DCF_WORKFLOWS_DIR, where that is set."""
    is_chosen = "workflows_dir" in settings.model_fields_set
    return settings.workflows_dir if is_chosen else settings.data_dir / "workflows"


def local_tree(settings: Settings, configured: FileTree) -> FileTree:
    """Return the configured files; without any, the directory of the local user, made if it is missing.

    Where it cannot be made the answer is the configured files, whose refusal names the variables to set.
    """
    if settings.files_read or settings.files_write:
        return configured
    directory = local_directory(settings)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return configured
    return FileTree((), (directory,), settings.files_max_bytes)
