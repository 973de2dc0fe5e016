"""A Map over 1,000 numbers. Some of them fail, and the flow tolerates up to 50 of them."""

from dcf import each, flow, task
from dcf.worker import TaskFailed


@task
def square(number: int) -> int:
    """Return the square of a number; every 25th number is broken."""
    if number % 25 == 0:
        raise TaskFailed("Broken", f"{number} cannot be squared")
    return number * number


@task
def numbers(count: int) -> list[int]:
    """Return the numbers from 1 on."""
    return list(range(1, count + 1))


@flow
def squares(count: int) -> str:
    """Square each number, 100 at the same time, and add them up."""
    results = [square(number) for number in each(numbers(count), concurrency=100, tolerate=50)]
    return f"{len(results)} of {count} squares, the sum is {sum(results)}"
