"""The arguments that verbs share: each means the same, and is described once. It must not import the engine."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias

from dcf.verbs.description.verb import Argument

ID: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
STATE: Final = r"^[^\x00-\x1f\x7f]+$"
JsonValue: TypeAlias = Any
"""Any JSON value; MISSING if the caller sends no value, since `null` is a value."""
RunId = Annotated[str, Argument(means="Id of the run.", example="order-42", pattern=ID, plain=True)]
OptionalRunId = Annotated[RunId | None, Argument(means="Id of the run.", plain=True)]
ProjectId = Annotated[str, Argument(means="Id of the project.", example="shop", pattern=ID, plain=True)]
AgentId = Annotated[
    str | None, Argument(means="Your agent id.", example="pricing-1", pattern=ID, option="--as", label="Who does it")
]
"""Who does what is done; without it the agent of the key, or the local user."""
OtherAgentId = Annotated[str, Argument(means="Id of the agent.", example="pricing-1", pattern=ID)]
StatePath = Annotated[
    str,
    Argument(
        means="Name of the state, or its path, as in Each/17/Score.",
        example="CalculatePricing",
        pattern=STATE,
        min_length=1,
        max_length=400,
    ),
]
Reason = Annotated[
    str | None,
    Argument(means="Why, for the run's history.", max_length=2000, label="Reason, for the history", plain=True),
]
RequestId = Annotated[
    str | None,
    Argument(
        means="An id of your own for this request: repeated with it, the call is applied once.",
        min_length=1,
        max_length=200,
        form="request",
        listed=False,
    ),
]
Limit = Annotated[int, Argument(means="Entries of one page.", ge=1, le=1000, plain=True)]
Cursor = Annotated[
    str | None,
    Argument(means="The next_cursor of the answer before, same arguments.", max_length=600, plain=True),
]
PrintedCursor = Annotated[
    str | None,
    Argument(
        means="next_cursor of the answer before.",
        max_length=100,
        plain=True,
        spelling="Cursor, printed below each page.",
    ),
]
"""The next page, where the command prints the cursor."""
DefinitionReference = Annotated[
    str | None,
    Argument(
        means="Definition of the catalogue that it is carried out by: kind:name, or kind:name@version.",
        example="workflow:release",
        min_length=1,
        max_length=300,
        option="--definition",
        spelling="Its definition in the catalogue: KIND:NAME or KIND:NAME@VERSION.",
        listed=False,
    ),
]
LeaseTtl = Annotated[int, Argument(means="Seconds of the lease.", ge=1, le=86_400, plain=True)]
LeaseToken = Annotated[
    str,
    Argument(
        means="The lease's token; keep it secret.",
        example="the token in the answer of acquire_state_lease",
        min_length=1,
        max_length=200,
    ),
]
SearchedWords = Annotated[
    str | None,
    Argument(
        means='Words that must all be there; "a phrase" exactly.',
        max_length=1000,
        form="words",
        tool="query",
        was="text",
    ),
]
StateName = Annotated[
    StatePath,
    Argument(means="Name of the state.", spelling="Name of the state, or its path, as in Each/17/Check.", plain=True),
]
GroupName = Annotated[
    str | None, Argument(means="A group of people.", pattern=ID, spelling="The group that you answer for.", plain=True)
]
Person = Annotated[
    AgentId, Argument(means="Your agent id.", form="person", spelling="Who does it; your user name if left out.")
]
"""The person or agent that acts; without it a command means the user of this machine."""
RequiredPerson = Annotated[
    str,
    Argument(
        means="Your agent id.",
        example="pricing-1",
        pattern=ID,
        form="person",
        option="--as",
        spelling="Who does it; your user name on this machine if left out.",
    ),
]
"""The person or agent that acts, for tools that require it."""
Tags = Annotated[
    Sequence[str],
    Argument(
        means='Short texts: ["api"].',
        form="texts",
        tool="tags_json",
        option="--tag",
        spelling="A short text to find it by; may be repeated.",
    ),
]
OwnAgentId = Annotated[str, Argument(means="Your agent id.", example="pricing-1", pattern=ID)]
"""Who does what is done, where a call has to say so."""
PageLimit = Annotated[
    int, Argument(means="Items of one page; fewer come if they are large.", ge=1, le=1000, plain=True)
]
WholeInput = Annotated[bool, Argument(means="Never leave out a long input; for programs.", listed=False)]
Epoch = Annotated[
    int | None, Argument(means="Only if the lease still has this epoch; else conflict.", ge=10**15, le=2**53)
]
