"""The messages between a process and its confined children: a header of fixed length, then bytes that say the rest."""

import struct
from typing import Final

REQUEST: Final = struct.Struct("<II")
"""The length of the data, and the processor time that the call may take, in microseconds."""

REPLY: Final = struct.Struct("<II")
"""The length of the data, and the processor time that the call took, in microseconds."""

OUT_OF_MEMORY: Final = 3
"""The exit code of a child whose Python code ran out of memory. Compiled libraries abort the child instead."""
