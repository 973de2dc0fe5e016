"""The order pipeline as a flow: the same three functions and the same invoice as `order_processing.json`."""

from typing import Any, TypedDict

from order_processing import calculate_pricing, generate_invoice, validate_order

from dcf import flow, use


class Line(TypedDict):
    """A line of an order."""

    sku: str
    quantity: int
    unit_price: str


class Address(TypedDict):
    """Where an order is sent."""

    street: str
    city: str
    state: str
    zip: str


class Validated(TypedDict):
    """The customer, and the discount code if the order has one."""

    customer: str
    discount_code: str | None


validate = use(validate_order, name="ValidateOrder")
price = use(calculate_pricing, name="CalculatePricing")
invoice = use(generate_invoice, name="GenerateInvoice")


@flow(name="Order Processing Flow", version="1.0.0")
def order_pipeline(
    order_number: str,
    order_date: str,
    customer_id: str,
    lines: list[Line],
    ship_to: Address,
    discount_code: str | None = None,
) -> dict[str, Any]:
    """Check an order, price it, write the invoice."""
    validated: Validated = validate(
        {
            "order_number": order_number,
            "order_date": order_date,
            "customer_id": customer_id,
            "lines": lines,
            "ship_to": ship_to,
            "discount_code": discount_code,
        }
    )
    pricing = price(
        {
            "order_date": order_date,
            "lines": lines,
            "state": ship_to["state"],
            "zip": ship_to["zip"],
            "discount_code": validated["discount_code"],
        }
    )
    invoiced: dict[str, Any] = invoice(
        {
            "order_number": order_number,
            "order_date": order_date,
            "customer": validated["customer"],
            "lines": lines,
            "pricing": pricing,
        }
    )
    return invoiced
