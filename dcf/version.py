"""The version of dcf, in a module of its own: who needs it does not import the public names of `dcf`."""

from typing import Final

__version__: Final = "0.1.0"
