"""The refunds of the tutorial, `definitions/refunds.json`: a Map, a person, a payment with retries."""

from dataclasses import dataclass

from dcf import Rejected, Retry, flow, human, task


@dataclass
class Claim:
    customer: str
    amount: int


@dataclass
class Payment:
    booked: int


class TooMuch(Exception):
    pass


@task
def check(claim: Claim) -> Claim:
    if claim.amount > 1000:
        raise TooMuch(f"{claim.customer} claims {claim.amount}")
    return claim


@task(retry=Retry(5, delay=1, backoff=2, on=(ConnectionError,)))
def pay(total: int) -> Payment:
    return Payment(total)


@flow
def refunds(claims: list[Claim]) -> str:
    """Check claims, let a person approve, pay, report."""
    checked = [check(claim) for claim in claims]
    approval = human("Pay these refunds?", to=["alice", {"group": "finance"}], details=checked, name="Approve")
    if approval.choice == "reject":
        raise Rejected(f"{approval.comment}")
    payment = pay(sum(claim.amount for claim in checked))
    names = ", ".join([claim.customer for claim in checked])
    return f"{approval.answered_by} approved {payment.booked} for {names}"
