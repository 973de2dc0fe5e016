"""docs/reference/python.md: its programs run, and it names everything there is, with python-methods.md."""

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import dcf
from dcf.client import Client, records
from dcf.features.external import records as outside_records
from dcf.tools.mcp.selection import select_tools
from dcf.verbs.registry import TOOLS
from tests.python.conftest import greeter
from tests.python.workflows import EMPTY, FAILING, HELLO
from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis

PAGES = ("python.md", "python-methods.md", "python-other-methods.md")
PAGE, *_METHODS = ((ROOT / "docs" / "reference" / name).read_text("utf-8") for name in PAGES)
METHODS = "".join(_METHODS)
