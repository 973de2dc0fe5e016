"""The page of a run whose workflow is a flow: the panel of a state names the line of Python."""

import pytest

from dcf.application.application import Application
from dcf.core.definitions.forms import as_workflow
from dcf.core.definitions.sources import line_of
from dcf.flow.compiling import compile_flow
from dcf.web.site import build_site
from tests.flow.flows.release import release
from tests.support.world import World
from tests.web.run.run_visitor import Visitor

pytestmark = pytest.mark.anyio


async def test_the_panel_of_a_state_names_the_line_that_it_was_compiled_from(
    agents: World, application: Application
) -> None:
    compiled = compile_flow(release)
    run = agents.create(as_workflow(compiled.document))
    page = await Visitor(build_site(application)).run(run, state="start_build")
    line = line_of(compiled.document, "start_build")
    assert line is not None
    assert line.endswith(": build = start_build(repo)")
    assert page.has(line)
