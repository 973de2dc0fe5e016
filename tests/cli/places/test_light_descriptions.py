"""A command at a server describes its verb without what carries the verb out: no Redis client, no store.

The module of a verb imports what its body works on where the body uses it, or for type checkers only.
"""

import json
import subprocess
import sys

from dcf.verbs.description.table import COMMANDS, TABLE
from tests.support.paths import ROOT

_CODE = """
import json, sys
from importlib import import_module

HEAVY = ("redis", "mcp", "dcf.store", "dcf.application", "dcf.settings.process", "dcf.tools.mcp.selection")
loaded = {}
for module in sys.argv[1:]:
    import_module(module)
    loaded[module] = [name for name in HEAVY if name in sys.modules]
print(json.dumps(loaded))
"""


def test_modules_of_verbs_that_are_commands_load_neither_redis_nor_a_store() -> None:
    """Of several that do, only the first is certain: it is the first that has a list."""
    modules = sorted({TABLE[command.verb].module for command in COMMANDS.values()})
    command = [sys.executable, "-c", _CODE, *modules]
    loaded = json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT, timeout=60).stdout)
    assert loaded == {module: [] for module in modules}
