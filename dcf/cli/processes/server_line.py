"""Says in one line, when a process starts, which Redis it uses and what a crash may cost.

The cost of a crash is the health report's finding, so that the line, `dcf doctor` and `/readyz` agree.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from dcf.features.health.findings import Topic
from dcf.store.embedded.sources import origin_of
from dcf.store.forms.form import FORM_WORDS

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.health.operations import HealthReport


def server_line(application: "Application", report: "HealthReport") -> str:
    """Return the line, without "dcf:" before it."""
    facts = application.server
    origin = "of REDIS_URL"
    if application.settings.redis_url is None:
        program = "" if facts.executable is None else f" ({origin_of(Path(facts.executable))})"
        origin = f"started by dcf{program}, data in {application.settings.data_dir}"
    survival = [finding.sentence for finding in report.findings if finding.topic is Topic.DURABILITY]
    text = f"{facts.product} {facts.version} {origin}; documents {FORM_WORDS[facts.documents]}."
    return " ".join([text, *survival[:1]])
