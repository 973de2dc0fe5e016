"""Lists the capabilities once, in their order: that of a completion, outermost first. Importing it installs them.

A capability may import those below it in the list. Every process that decides on runs imports this module before its
first call. A capability that offers something to the engine has a module `capability`. The modules of verbs are in
`verb_modules`.
"""

from typing import Final

from dcf.core.extensions import EXTENSIONS, Capability
from dcf.features import installed_language  # noqa: F401 - who decides on runs reads workflows
from dcf.features.gates.capability import GATES
from dcf.features.growing.capability import GROWING
from dcf.features.people.capability import PEOPLE
from dcf.features.questions.capability import QUESTIONS
from dcf.features.usage.capability import USAGE

CAPABILITIES: Final = (
    QUESTIONS,
    GROWING,
    Capability(name="accounts"),
    Capability(name="traces"),
    Capability(name="export"),
    Capability(name="external"),
    GATES,
    Capability(name="diagnosis"),
    Capability(name="health"),
    Capability(name="agent_context"),
    Capability(name="projects"),
    Capability(name="project_files"),
    Capability(name="search"),
    Capability(name="webhooks"),
    Capability(name="catalogue"),
    Capability(name="work"),
    Capability(name="findings"),
    Capability(name="retention"),
    USAGE,
    Capability(name="a2a"),
    Capability(name="artifacts"),
    Capability(name="children"),
    Capability(name="documents"),
    Capability(name="journal"),
    PEOPLE,
    Capability(name="schedules"),
    Capability(name="task_log"),
)

EXTENSIONS.install(CAPABILITIES)
