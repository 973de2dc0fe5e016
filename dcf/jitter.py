"""Random numbers for pauses, so that processes that collided do not collide again.

A generator of its own: programs and tests that seed `random` get the same numbers whatever the threads of dcf do.
"""

import random
from typing import Final

JITTER: Final = random.Random()  # noqa: S311 - pauses, not secrets
