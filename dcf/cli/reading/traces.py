"""The command `dcf runs trace`: a run's history as an OpenTelemetry trace, sent to a collector."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import ExportedFile, JsonFlag, OptionalRun, check_run_or_file
from dcf.cli.commands.formats import print_json
from dcf.cli.places.choice import elsewhere
from dcf.values.json_text import Json

_COLLECTOR: Final = "http://127.0.0.1:4318"


def trace(
    workflow_id: OptionalRun = None,
    otlp: Annotated[
        str, typer.Option(help="The collector's URL, for OTLP over HTTP.", envvar="OTEL_EXPORTER_OTLP_ENDPOINT")
    ] = _COLLECTOR,
    file: ExportedFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Send a run's whole trace to an OpenTelemetry collector, made from its history; needs the extra otel.

    Any process comes to the same ids, so it does not matter who exports, and sending again sends the same spans.
    Of a run that is not over, open spans end with the last event and have the attribute dcf.open.
    """
    check_run_or_file(workflow_id, file)
    if file is not None:
        from dcf.cli.reading.export_files import read_file

        exported = read_file(file)
        _send(str(exported.head.get("workflow_id")), exported.meta, exported.events, otlp, as_json=as_json)
    elif workflow_id is not None:
        with _opened(workflow_id) as (meta, events):
            _send(workflow_id, meta, events, otlp, as_json=as_json)


@contextmanager
def _opened(workflow_id: str) -> Iterator[tuple[Mapping[str, Json], Iterator[Mapping[str, Json]]]]:
    """Open the meta document of a run and its history, at the place in use."""
    if not elsewhere():
        with opening.application() as application:
            head = application.exports.head(workflow_id)
            yield head["meta"], (event.as_json() for event in application.exports.events(workflow_id))
        return
    from dcf.cli.places.place import place
    from dcf.cli.reading.answers import ask, each_event

    with place() as used:
        answer = ask(used, "read_workflow_control_plane", workflow_id=workflow_id, summary=True, limit=1)
        yield answer["meta"], each_event(used, workflow_id)


def _send(
    workflow_id: str, meta: Mapping[str, Json], events: Iterable[Mapping[str, Json]], url: str, *, as_json: bool
) -> None:
    from dcf.telemetry.ids import trace_id_of
    from dcf.telemetry.otlp import send
    from dcf.telemetry.spans import spans_of

    sent = send(workflow_id, spans_of(workflow_id, str(meta.get("workflow_name") or "workflow"), events), url)
    trace_id = f"{trace_id_of(workflow_id):032x}"
    if as_json:
        print_json({"workflow_id": workflow_id, "trace_id": trace_id, "spans": sent})
    else:
        typer.echo(f"Sent {sent} spans; trace {trace_id}")
