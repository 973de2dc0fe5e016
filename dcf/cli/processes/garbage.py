"""How often a process looks for garbage in cycles. It must not decide what is garbage: Python does.

By default Python looks after 700 new objects. The modules of a command are made of a million objects, which all stay.
"""

import gc
from typing import Final

_STARTING: Final = (500_000, 20, 20)
LASTING: Final = (50_000, 20, 20)


def collect_rarely_at_start() -> None:
    """Look for garbage after 500,000 new objects: imports leave little, and each look takes longer than the last."""
    gc.set_threshold(*_STARTING)


def collect_when_loaded() -> None:
    """Leave what is loaded out of the looks from now on, and look after 50,000 new objects.

    With Python's own threshold the looks take most of the time in which a long request is parsed, and no other request
    is answered meanwhile.
    """
    gc.freeze()
    gc.set_threshold(*LASTING)
