"""Lists what capabilities offer to processes that carry out runs. Importing it installs them.

Every process that reads or writes runs, or delivers notifications, imports this module before its first call. Offers
to decisions are in `installed`, which imports nothing that uses Redis.
"""

from dcf.features.gates.storage import LISTED as GATES_LIST
from dcf.features.gates.storage import ROW as GATES
from dcf.features.growing.storage import ROWS as GROWING
from dcf.features.growing.unit_cache import LOADING
from dcf.features.journal.storage import ROW as JOURNAL
from dcf.features.people.events import CONTENT as PEOPLE_NOTICE
from dcf.features.people.storage import LISTED as PEOPLE_LIST
from dcf.features.questions.events import CONTENT as QUESTIONS_NOTICE
from dcf.features.questions.storage import ROW as QUESTIONS
from dcf.features.usage.storage import settling
from dcf.features.work.limit_operations import refreshing
from dcf.runs.clock.duties import DUTIES
from dcf.runs.loading import RUNS
from dcf.runs.notifying.contents import NOTICES
from dcf.store.extensions import LISTS, PARTS

PARTS.install((QUESTIONS, *GROWING, GATES, JOURNAL))
LISTS.install((PEOPLE_LIST, GATES_LIST))
NOTICES.install((QUESTIONS_NOTICE, PEOPLE_NOTICE))
DUTIES.install((refreshing, settling))
RUNS.install(growing=LOADING)
