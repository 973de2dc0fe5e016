"""Lists the offers of capabilities to readers of runs. Importing it installs them.

Every process that reads runs imports this module before its first call.
"""

from dcf.features.growing.unit_cache import LOADING as GROWING
from dcf.runs.loading import RUNS

RUNS.install(growing=GROWING)
