"""Pictures of runs that grow: several beginnings, groups, and a run without units."""

from dcf.cli.reading.graphs import Format, render
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.model import Unit, Units
from tests.support.tables import rows

UNITS = [
    Unit(name="Phase", kind="group"),
    Unit(name="Build", group="Phase"),
    Unit(name="Docs"),
    Unit(name="Ship", depends_on=("Phase", "Docs")),
]


@rows("form", ["text", "mermaid", "svg"])
def test_every_unit_is_in_the_picture(form: Format) -> None:
    picture = render(grown_definition("release", Units().plus(UNITS)).machine, form=form)
    assert all(unit.name in picture for unit in UNITS)


@rows("form", ["text", "mermaid", "svg"])
def test_a_run_without_units_has_a_picture(form: Format) -> None:
    assert isinstance(render(grown_definition("release").machine, form=form), str)
