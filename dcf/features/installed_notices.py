"""Lists what capabilities bring with notifications. Importing it installs them.

Every process that delivers notifications imports this module before its first call.
"""

from dcf.features.people.events import CONTENT as PEOPLE
from dcf.features.questions.events import CONTENT as QUESTIONS
from dcf.runs.notifying.contents import NOTICES

NOTICES.install((QUESTIONS, PEOPLE))
