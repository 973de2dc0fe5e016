"""The scripted model at work on the order pipeline: it follows the directives of the three skills, tool by tool."""

import json
from decimal import Decimal
from typing import Any

from tests.system.hosting.model_server import Heard, Said


def order_mind(heard: Heard) -> Said:
    return _WORK[heard.state](heard)


def _done(output: Any) -> Said:
    return Said(text=json.dumps(output))


def _validate(heard: Heard) -> Said:
    order = heard.given
    if not heard.of("verify_customer"):
        return heard.use("verify_customer", customer_id=order["customer_id"])
    skus = {use.arguments["sku"] for use in heard.of("check_inventory")}
    for line in order["lines"]:
        if line["sku"] not in skus:
            return heard.use("check_inventory", sku=line["sku"])
    if not heard.of("validate_address"):
        return heard.use("validate_address", state=order["ship_to"]["state"], zip=order["ship_to"]["zip"])
    (customer,) = heard.of("verify_customer")
    return _done({"customer": customer.answer["name"], "discount_code": order.get("discount_code")})


def _price(heard: Heard) -> Said:
    value = heard.given
    if not heard.of("calculate_subtotal"):
        return heard.use("calculate_subtotal", lines=value["lines"])
    subtotal = heard.of("calculate_subtotal")[0].answer["subtotal"]
    if not heard.of("apply_discount"):
        return heard.use(
            "apply_discount", code=value["discount_code"], subtotal=subtotal, order_date=value["order_date"]
        )
    discount = heard.of("apply_discount")[0].answer["discount"]
    amount = str(Decimal(subtotal) - Decimal(discount))
    if not heard.of("calculate_tax"):
        return heard.use("calculate_tax", state=value["state"], amount=amount)
    if not heard.of("calculate_shipping"):
        return heard.use("calculate_shipping", zip=value["zip"], amount=amount)
    tax, shipping = heard.of("calculate_tax")[0].answer["tax"], heard.of("calculate_shipping")[0].answer["shipping"]
    total = str(Decimal(amount) + Decimal(tax) + Decimal(shipping))
    return _done({"subtotal": subtotal, "discount": discount, "tax": tax, "shipping": shipping, "total": total})


def _invoice(heard: Heard) -> Said:
    if not heard.of("create_invoice"):
        fields = ("order_number", "order_date", "customer", "lines", "pricing")
        return heard.use("create_invoice", **{name: heard.given[name] for name in fields})
    return _done(heard.of("create_invoice")[0].answer)


_WORK = {"ValidateOrder": _validate, "CalculatePricing": _price, "GenerateInvoice": _invoice}
