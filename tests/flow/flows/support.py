"""The customer support example: two workers side by side; the third gets what both found."""

from typing import TypedDict

from dcf import flow, parallel, task


class Customer(TypedDict):
    name: str
    plan: str


class Diagnosis(TypedDict):
    area: str
    cause: str


@task
def lookup_customer(account_id: str) -> Customer:
    return {"name": f"Customer {account_id}", "plan": "gold"}


@task
def diagnose_issue(account_id: str, message: str) -> Diagnosis:
    return {"area": "billing" if "invoice" in message else "login", "cause": account_id}


@task
def compose_response(customer: Customer, diagnosis: Diagnosis) -> str:
    return f"Dear {customer['name']}, it is {diagnosis['area']}."


@flow
def support(account_id: str, message: str) -> str:
    """Answer a customer."""
    customer, diagnosis = parallel(lookup_customer(account_id), diagnose_issue(account_id, message))
    return compose_response(customer, diagnosis)
