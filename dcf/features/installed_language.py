"""Lists what capabilities offer to the language. Importing it installs them.

Every process that reads a workflow imports this module before. It is light: nothing here decides on runs.
"""

from dcf.asl.tasks.extensions import LANGUAGE
from dcf.features.children.syntax import RESOURCE as CHILD
from dcf.features.gates.syntax import FIELD as GATES
from dcf.features.gates.syntax import gates_of_run
from dcf.features.people.syntax import RESOURCE as HUMAN

LANGUAGE.install(fields=(GATES,), resources=(HUMAN, CHILD), gates_of_run=gates_of_run)
