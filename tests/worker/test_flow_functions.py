"""Task functions of flows as a worker calls them: with typed arguments, and with a context that no flow passes."""

from dataclasses import dataclass

from dcf import testing
from dcf.steps.vocabulary import flow
from dcf.worker import TaskContext, task


@dataclass
class Booking:
    amount: int
    key: str


@dataclass
class Order:
    amount: int


@task
def pay(order: Order, context: TaskContext = TaskContext()) -> Booking:
    return Booking(order.amount, context.idempotency_key)


@task
def count(order: Order, call: TaskContext = TaskContext()) -> int:
    return order.amount + call.attempt


@flow
def orders(order: Order) -> Booking:
    number = count(order)
    return pay(Order(number))


def test_a_step_gets_the_context_of_its_call_by_name_and_by_type() -> None:
    story = testing.run(orders, {"order": {"amount": 4}}, workflow_id="run-1")
    assert story.output == {"amount": 5, "key": story.output["key"]}
    assert story.output["key"].startswith("dcf-")


def test_a_function_that_is_called_alone_has_a_context_of_no_run() -> None:
    assert pay(Order(3)) == Booking(3, "")
    assert pay(Order(3), testing.context("pay")).key != ""
