"""The verifier of webhooks imports only the standard library."""

import subprocess
import sys


def test_a_receiver_imports_nothing_but_the_standard_library() -> None:
    heavy = "('redis', 'mcp', 'pydantic', 'orjson')"
    code = f"import dcf.webhooks, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
