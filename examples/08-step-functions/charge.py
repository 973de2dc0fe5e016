"""The function that was a Lambda: one call for each order."""

from typing import Any

from dcf.worker import TaskFailed, task


@task("Charge")
def charge(order: dict[str, Any]) -> str:
    """Charge an order, and return the receipt."""
    if order["card"] == "declined":
        raise TaskFailed("CardDeclined", "the bank said no")
    return f"paid {order['total']}"
