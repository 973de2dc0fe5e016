"""Lists the lists across runs that capabilities keep of states. Importing it installs them.

Every process that writes runs imports this module before its first call.
"""

from dcf.features.gates.storage import LISTED as GATES
from dcf.features.people.storage import LISTED as PEOPLE
from dcf.store.extensions import LISTS

LISTS.install((PEOPLE, GATES))
