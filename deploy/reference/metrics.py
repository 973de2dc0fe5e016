"""The page of metrics: each with its type, labels and meaning, as `/metrics` shows them."""

from dcf.features.health.routes import READ
from dcf.metrics import COUNTED, SECONDS
from deploy.reference.markdown import page, table
from deploy.reference.settings import number


def render() -> str:
    """Return the page."""
    rows = [
        (f"`{family.name}`", family.kind, ", ".join(f"`{label}`" for label in family.labels), family.text)
        for family in (*COUNTED, *READ)
    ]
    return page(
        "Metrics",
        "`dcf serve --transport http --metrics` shows these at `/metrics`, in the text format of Prometheus. Counters "
        "and histograms are those of one process, gauges are read from Redis.",
        table(("metric", "type", "labels", "meaning"), rows),
        f"The buckets of histograms end at {', '.join(map(number, SECONDS))} seconds.",
    )
