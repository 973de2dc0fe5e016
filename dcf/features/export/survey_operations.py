"""Draws an exported run like a run in Redis."""

from dcf.asl.machine import Machine, Map
from dcf.asl.places import resolve
from dcf.core.definitions.model import read_definition
from dcf.features import installed_decisions  # noqa: F401 - a workflow and documents of states are read
from dcf.features.export.form import ExportedRun
from dcf.runs.views.survey import Survey
from dcf.workflows.drawing import Share


def survey_of_export(exported_run: ExportedRun) -> Survey:
    """Return the status of an exported run's states. Raise InvalidDefinition if its workflow cannot be read.

    States that its workflow does not have are left out: somebody may have changed the file.
    """
    machine = read_definition(exported_run.head.get("definition")).machine
    known = {path: exported_run.state(path) for path in exported_run.states if _is_in(machine, path)}
    shares = {
        path: Share(size=int(doc["scope"]["size"]), done=doc["tally"]["done"], failed=doc["tally"]["failed"])
        for path, doc in known.items()
        if doc.get("scope") and "tally" in doc and isinstance(resolve(machine, path).state, Map)
    }
    statuses = {path: str(doc["status"]) for path, doc in known.items()}
    return Survey(machine=machine, meta=exported_run.meta, statuses=statuses, shares=shares, left_out=0)


def _is_in(machine: Machine, path: str) -> bool:
    try:
        resolve(machine, path)
    except KeyError:
        return False
    return True
