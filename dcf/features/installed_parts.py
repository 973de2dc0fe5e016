"""Lists the parts of a run that capabilities keep, and how. Importing it installs them.

Every process that reads or writes runs imports this module before its first call.
"""

from dcf.features.gates.storage import ROW as GATES
from dcf.features.growing.storage import ROWS as GROWING
from dcf.features.journal.storage import ROW as JOURNAL
from dcf.features.questions.storage import ROW as QUESTIONS
from dcf.store.extensions import PARTS

PARTS.install((QUESTIONS, *GROWING, GATES, JOURNAL))
