"""Parts of a document that only AWS does are warned about, each with its place and with what to do instead."""

from typing import Any

from dcf.workflows.validation.document import judge_machine
from tests.support.tables import rows

ITEMS = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, "StartAt": "In"}
IN = {"Type": "Task", "End": True}


def warnings(**fields: Any) -> list[str]:
    state = {"Type": "Task", "End": True, **fields}
    validation = judge_machine({"StartAt": "Put", "States": {"Put": state}})
    assert validation.problems == ()
    return [warning for warning in validation.warnings if "no agent" not in warning]


def big(**fields: Any) -> dict[str, Any]:
    inner = fields.pop("inner", IN)
    return {"Type": "Map", "ItemProcessor": {**ITEMS, "States": {"In": inner}}, **fields}


@rows(
    ("fields", "place", "words"),
    [
        ({"Resource": "arn:aws:states:::dynamodb:putItem"}, "/States/Put/Resource", '@task("Put")'),
        ({"Resource": "arn:aws:states:::aws-sdk:s3:headObject"}, "/States/Put/Resource", "does not call"),
        ({"Resource": "arn:aws:states:::sns:publish"}, "/States/Put/Resource", "returns the result."),
        ({"Resource": "arn:aws-cn:states:::ecs:runTask.sync"}, "/States/Put/Resource", "returns the result."),
        (
            {"Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken"},
            "/States/Put/Resource",
            "hands the task token out",
        ),
        ({"Resource": "${PutArn}"}, "/States/Put/Resource", "Leave the Resource out"),
        ({"Parameters": {"table": ["${Table}"]}}, "/States/Put/Parameters", "Write the value itself."),
        ({"Credentials": {"RoleArn": "arn:aws:iam::1:role/x"}}, "/States/Put/Credentials", "ignores Credentials"),
        (
            {
                "Resource": "arn:aws:states:::states:startExecution.sync:2",
                "Parameters": {"StateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:Refunds"},
            },
            "/States/Put/Parameters/StateMachineArn",
            "such as 'Refunds'",
        ),
        (
            big(ItemReader={"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"}}),
            "/States/Put/ItemReader",
            "DCF_ITEMS_DIRS",
        ),
        (
            big(ResultWriter={"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}}),
            "/States/Put/ResultWriter",
            "no file is written",
        ),
        (
            big(inner={**IN, "Resource": "arn:aws:states:::sns:publish"}),
            "/States/Put/ItemProcessor/States/In/Resource",
            '@task("In")',
        ),
    ],
)
def test_what_only_aws_does_is_warned_about(fields: dict[str, Any], place: str, words: str) -> None:
    (warning,) = warnings(**fields)
    assert warning.startswith(f"{place}: dcf ")
    assert words in warning


@rows(
    "fields",
    [
        {"Resource": "arn:aws:lambda:eu-west-1:1:function:f"},
        {"Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "f"}},
        {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": {"FunctionName": "f"}},
        {"Resource": "arn:aws:states:eu-west-1:1:activity:pack"},
        {"Resource": "dcf:human", "Parameters": {"to": "alice", "title": "Pay?"}},
        {"Resource": "arn:aws:states:::states:startExecution", "Parameters": {"StateMachineArn": "refunds"}},
        {"QueryLanguage": "JSONata", "Arguments": "{% $replace('${a}', 'a', 'b') %}"},
    ],
)
def test_what_dcf_does_is_not_warned_about(fields: dict[str, Any]) -> None:
    assert warnings(**fields) == []
