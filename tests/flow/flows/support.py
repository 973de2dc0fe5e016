"""The customer support example, `workflows/customer_support.json`: two agents side by side, a third answers."""

from typing import TypedDict

from dcf import agent, flow, parallel


class Customer(TypedDict):
    name: str
    plan: str
    open_tickets: list[str]


class Diagnosis(TypedDict):
    area: str
    cause: str
    article: str


class Reply(TypedDict):
    reply: str


@flow
def support(account_id: str, message: str) -> Reply:
    """Look the customer up and find the cause, both at once; then write the answer."""
    customer, diagnosis = parallel(
        agent(
            "worker",
            "Look up the customer's name and plan, and the ids of their open tickets.",
            account_id,
            output=Customer,
            skills=["skill://lookup.customer@0.1.0"],
            name="LookupCustomer",
        ),
        agent(
            "worker",
            "Find the area, the cause and an article about it.",
            account_id,
            message,
            output=Diagnosis,
            skills=["skill://diagnose.issue@0.1.0"],
            name="DiagnoseIssue",
        ),
    )
    return agent(
        "worker",
        "Write the reply.",
        customer,
        diagnosis,
        output=Reply,
        skills=["skill://compose.response@0.1.0"],
        name="ComposeResponse",
    )
