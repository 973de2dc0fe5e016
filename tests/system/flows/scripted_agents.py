"""The agents of customer support: they answer what `workflows/customer_support/mocks.json` says, whatever they read."""

import json
from collections.abc import Callable
from typing import Any

from dcf.worker import task
from tests.support.paths import ROOT
from tests.system.flows.watched import watched


def answering(output: Any) -> Callable[[Any], Any]:
    def answer(state_input: Any) -> Any:
        assert state_input, "an agent is told what its work is about"
        return output

    return answer


MOCKS = json.loads((ROOT / "workflows" / "customer_support" / "mocks.json").read_text("utf-8"))
for name, mock in MOCKS.items():
    task(name)(watched(f"agents.{name}", answering(mock["output"])))
