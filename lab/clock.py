"""A clock process of the lab: looks at all live runs again and again, until it is killed."""

import time
from contextlib import suppress

from dcf.errors import DcfError
from lab.process import Place, opened

_PAUSE_S = 0.02


def main(place: Place) -> None:
    """Pulse until killed."""
    with opened(place) as dcf:
        while True:
            with suppress(DcfError):
                dcf.clock.pulse()
            time.sleep(_PAUSE_S)
