"""Lists the modules in which capabilities describe their verbs.

Servers ask for verbs by `verbs.registry.TOOLS`, which is complete after `tools.mcp.selection` has imported this list; a
request before raises. The offers of capabilities to the engine are in `installed`.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Final

from dcf.features.agent_context import verbs as agent_context
from dcf.features.artifacts import verbs as artifacts
from dcf.features.catalogue import verbs as catalogue
from dcf.features.diagnosis import verbs as diagnosis
from dcf.features.documents import verbs as documents
from dcf.features.external import callback_verbs as external_callback_verbs
from dcf.features.external import verbs as external
from dcf.features.findings import promotion_verbs as findings_promotion_verbs
from dcf.features.findings import verbs as findings
from dcf.features.gates import override_verbs as gates_override_verbs
from dcf.features.gates import verbs as gates
from dcf.features.growing import verbs as growing
from dcf.features.health import verbs as health
from dcf.features.journal import verbs as journal
from dcf.features.people import verbs as people
from dcf.features.projects import verbs as projects
from dcf.features.questions import correction_verbs as questions_correction_verbs
from dcf.features.questions import verbs as questions
from dcf.features.retention import verbs as retention
from dcf.features.schedules import verbs as schedules
from dcf.features.search import verbs as search
from dcf.features.task_log import verbs as task_log
from dcf.features.usage import verbs as usage
from dcf.features.webhooks import verbs as webhooks
from dcf.features.work import verbs as work

VERB_MODULES: Final[Mapping[str, tuple[ModuleType, ...]]] = {
    "questions": (questions, questions_correction_verbs),
    "growing": (growing,),
    "accounts": (),
    "traces": (),
    "export": (),
    "external": (external, external_callback_verbs),
    "gates": (gates, gates_override_verbs),
    "diagnosis": (diagnosis,),
    "health": (health,),
    "agent_context": (agent_context,),
    "projects": (projects,),
    "project_files": (),
    "search": (search,),
    "webhooks": (webhooks,),
    "catalogue": (catalogue,),
    "work": (work,),
    "findings": (findings, findings_promotion_verbs),
    "retention": (retention,),
    "usage": (usage,),
    "a2a": (),
    "artifacts": (artifacts,),
    "children": (),
    "documents": (documents,),
    "journal": (journal,),
    "people": (people,),
    "schedules": (schedules,),
    "task_log": (task_log,),
}
"""The modules of verbs of each capability."""
