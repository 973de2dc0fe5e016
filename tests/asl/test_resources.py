"""The Resource of a Task decides who ends it."""

from dcf.asl.resources import read_resource
from tests.support.tables import rows

CHILD = "arn:aws:states:::states:startExecution"


@rows(
    ("text", "kind", "is_worked", "gets_token"),
    [
        (None, "work", True, False),
        ("arn:aws:lambda:us-east-1:1:function:f", "work", True, False),
        ("dcf:callback.waitForTaskToken", "callback", False, True),
        ("arn:aws:states:::sqs:sendMessage.waitForTaskToken", "callback", True, True),
        ("mail.waitForTaskToken", "callback", True, True),
        ("dcf:human", "human", False, False),
        ("dcf:humanity", "work", True, False),
        ("dcf:signal", "signal", False, False),
        (CHILD, "child", False, False),
        (f"{CHILD}.sync", "child", False, False),
        (f"{CHILD}.sync:2", "child", False, False),
        (f"{CHILD}.waitForTaskToken", "child", False, True),
        (f"{CHILD}.sync:3", "work", True, False),
    ],
)
def test_a_resource_says_who_ends_the_task(text: str | None, kind: str, *, is_worked: bool, gets_token: bool) -> None:
    resource = read_resource(text)
    assert (resource.kind, resource.is_worked, resource.gets_token) == (kind, is_worked, gets_token)


def test_the_suffix_of_a_child_run_is_told() -> None:
    assert [read_resource(CHILD + end).suffix for end in ("", ".sync:2", ".waitForTaskToken")] == [
        "",
        ".sync:2",
        ".waitForTaskToken",
    ]
