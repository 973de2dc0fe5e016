"""The workers of the order pipeline: validate an order, price it, write its invoice.

`order_processing.json` says in which order they run and what each is given; their tables are
in the folder `order_processing` next to this file. The rules are plain functions that take the tables
as a parameter; the three registered functions at the end only connect them to dcf. Money is `Decimal`,
rounded half up to cents at each figure, and crosses every boundary as a string with two decimals.

No input, however malformed, may raise anything but TaskFailed: every function checks what it is given first.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dcf.worker import TaskFailed, task

Json: TypeAlias = Any
"""Any JSON value."""

PAYMENT_DAYS = 30
FIGURES = ("subtotal", "discount", "tax", "shipping", "total")

# Bounds that keep every product below 28 digits, so that Decimal calculates exactly.
MAX_LINES = 500
MAX_QUANTITY = 1_000_000
_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?")

_MONEY = re.compile(r"[0-9]{1,20}\.[0-9]{2}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ZIP = re.compile(r"[0-9]{5}")
_ORDER_NUMBER = re.compile(r"ORD-[A-Za-z0-9][A-Za-z0-9._/-]{0,59}")


class Tables(NamedTuple):
    """The reference data the rules look things up in."""

    customers: dict[str, Json]
    inventory: dict[str, Json]
    rates: dict[str, Json]


def load_tables(folder: Path) -> Tables:
    """Read the three tables, one JSON file each."""
    return Tables(*(json.loads((folder / f"{name}.json").read_text("utf-8")) for name in Tables._fields))


# What is wrong with an order: each function yields reasons in plain words, none if all is well.


def order_reasons(order: Json, tables: Tables) -> Iterator[str]:
    """Yield every reason to reject the order document."""
    if not isinstance(order, dict):
        yield "the order must be an object"
        return
    yield from order_number_reasons(order.get("order_number"))
    yield from order_date_reasons(order.get("order_date"))
    yield from customer_reasons(order.get("customer_id"), tables)
    yield from line_reasons(order.get("lines"))
    yield from stock_reasons(order.get("lines"), tables)
    yield from ship_to_reasons(order.get("ship_to"), tables)
    yield from discount_code_reasons(order.get("discount_code"))


def pricing_reasons(request: Json, tables: Tables) -> Iterator[str]:
    """Yield every reason why CalculatePricing cannot work with its input."""
    if not isinstance(request, dict):
        yield "the input must be an object"
        return
    yield from order_date_reasons(request.get("order_date"))
    yield from line_reasons(request.get("lines"))
    yield from address_reasons(request.get("state"), request.get("zip"), tables)
    yield from discount_code_reasons(request.get("discount_code"))


def invoice_reasons(request: Json) -> Iterator[str]:
    """Yield every reason why GenerateInvoice cannot work with its input."""
    if not isinstance(request, dict):
        yield "the input must be an object"
        return
    yield from order_number_reasons(request.get("order_number"))
    yield from order_date_reasons(request.get("order_date"))
    yield from line_reasons(request.get("lines"))
    yield from figure_reasons(request.get("pricing"))
    if not isinstance(request.get("customer"), str):
        yield "customer must be a name"


def order_number_reasons(number: Json) -> Iterator[str]:
    """Require ORD- and an identifier."""
    if not _matches(_ORDER_NUMBER, number):
        yield "order_number must be a string like ORD-2025-0042"


def order_date_reasons(value: Json) -> Iterator[str]:
    """Require a date of the calendar whose due date is one too."""
    day = parse_date(value)
    if day is None:
        yield "order_date must be a date written YYYY-MM-DD"
    elif day > date.max - timedelta(days=PAYMENT_DAYS):
        yield "order_date is too late: its due date is beyond the calendar"


def customer_reasons(customer_id: Json, tables: Tables) -> Iterator[str]:
    """Require a customer who exists and is active."""
    if not isinstance(customer_id, str):
        yield "customer_id must be a string"
    elif customer_id not in tables.customers:
        yield f"customer {_quoted(customer_id)} does not exist"
    elif not tables.customers[customer_id]["active"]:
        yield f"customer {_quoted(customer_id)} is not active"


def line_reasons(lines: Json) -> Iterator[str]:
    """Require at least one line, and of each a SKU, a quantity and a price."""
    if not _is_line_list(lines):
        yield f"lines must be a list of 1 to {MAX_LINES} order lines"
        return
    for position, line in enumerate(lines, start=1):
        for reason in _one_line_reasons(line):
            yield f"line {position}: {reason}"


def _one_line_reasons(line: Json) -> Iterator[str]:
    if not isinstance(line, dict):
        yield "must be an object with sku, quantity and unit_price"
        return
    if not isinstance(line.get("sku"), str):
        yield "sku must be a string"
    if not _is_quantity(line.get("quantity")):
        yield f"quantity must be an integer from 1 to {MAX_QUANTITY}"
    if not _matches(_PRICE, line.get("unit_price")):
        yield 'unit_price must be a string that holds an amount, like "29.99"'


def stock_reasons(lines: Json, tables: Tables) -> Iterator[str]:
    """Require that every SKU exists and its stock covers all lines of it together."""
    for sku, ordered in quantities_by_sku(lines).items():
        if sku not in tables.inventory:
            yield f"SKU {_quoted(sku)} does not exist"
        elif ordered > (on_hand := tables.inventory[sku]["on_hand"]):
            yield f"SKU {_quoted(sku)}: {ordered} ordered but only {on_hand} in stock"


def quantities_by_sku(lines: Json) -> Counter[str]:
    """Add up the lines of each SKU; what `line_reasons` complains about counts as nothing."""
    quantities: Counter[str] = Counter()
    for line in lines if _is_line_list(lines) else ():
        if isinstance(line, dict) and isinstance(line.get("sku"), str):
            quantities[line["sku"]] += line["quantity"] if _is_quantity(line.get("quantity")) else 0
    return quantities


def ship_to_reasons(ship_to: Json, tables: Tables) -> Iterator[str]:
    """Require an address with a usable state and ZIP."""
    if not isinstance(ship_to, dict):
        yield "ship_to must be an address with state and zip"
        return
    yield from address_reasons(ship_to.get("state"), ship_to.get("zip"), tables)


def address_reasons(state: Json, zip_code: Json, tables: Tables) -> Iterator[str]:
    """Require a state with a tax rate and a ZIP of five digits."""
    if not isinstance(state, str):
        yield "state must be a string"
    elif state not in tables.rates["tax"]:
        yield f"state {_quoted(state)} has no tax rate"
    if not _matches(_ZIP, zip_code):
        yield "zip must be a string of five digits"


def discount_code_reasons(code: Json) -> Iterator[str]:
    """Require a string, if anything; whether the code is valid is a matter of pricing."""
    if code is not None and not isinstance(code, str):
        yield "discount_code must be a string or null"


def figure_reasons(pricing: Json) -> Iterator[str]:
    """Require all five figures, each a string with two decimals."""
    figures = pricing if isinstance(pricing, dict) else {}
    for name in FIGURES:
        if not _matches(_MONEY, figures.get(name)):
            yield f"pricing.{name} must be an amount with two decimals"


# The rules; they rely on input that has no reasons against it.


def validated(order: Json, tables: Tables) -> Json:
    """Tell later states who orders, and the discount code if there is one."""
    _reject(order_reasons(order, tables))
    return {
        "customer": tables.customers[order["customer_id"]]["name"],
        "discount_code": order.get("discount_code"),
    }


def priced(request: Json, tables: Tables) -> Json:
    """Work out the five figures of an order."""
    _reject(pricing_reasons(request, tables))
    subtotal = subtotal_of(request["lines"])
    discount = discount_of(request.get("discount_code"), subtotal, request["order_date"], tables)
    tax = percent_of(tables.rates["tax"][request["state"]], subtotal - discount)
    shipping = shipping_of(request["zip"], subtotal - discount, tables)
    total = subtotal - discount + tax + shipping
    amounts = (subtotal, discount, tax, shipping, total)
    return {name: str(amount) for name, amount in zip(FIGURES, amounts, strict=True)}


def subtotal_of(lines: list[Json]) -> Decimal:
    """Sum quantity x unit price over the lines."""
    return cents(sum((line["quantity"] * Decimal(line["unit_price"]) for line in lines), Decimal(0)))


def discount_of(code: str | None, subtotal: Decimal, order_date: str, tables: Tables) -> Decimal:
    """Return what the code takes off the subtotal, never more than all of it."""
    if code is None:
        return cents(Decimal(0))
    terms = discount_terms(code, order_date, tables)
    if "percent" in terms:
        return min(percent_of(terms["percent"], subtotal), subtotal)
    return min(cents(Decimal(terms["amount"])), subtotal)


def discount_terms(code: str, order_date: str, tables: Tables) -> dict[str, str]:
    """Look the code up; it must exist and be valid on the day of the order."""
    terms: dict[str, str] | None = tables.rates["discounts"].get(code)
    if terms is None:
        raise TaskFailed("InvalidDiscount", f"discount code {_quoted(code)} does not exist")
    last_day = terms["valid_until"]
    if date.fromisoformat(order_date) > date.fromisoformat(last_day):
        cause = f"discount code {_quoted(code)} was valid until {last_day}; the order is of {order_date}"
        raise TaskFailed("InvalidDiscount", cause)
    return terms


def shipping_of(zip_code: str, discounted: Decimal, tables: Tables) -> Decimal:
    """Price the zone of the ZIP's first digit; large orders go free."""
    shipping = tables.rates["shipping"]
    if discounted >= Decimal(shipping["free_from"]):
        return cents(Decimal(0))
    _zone, price = shipping["zones"].get(zip_code[0], shipping["other"])
    return cents(Decimal(price))


def invoiced(request: Json) -> Json:
    """Write the invoice."""
    _reject(invoice_reasons(request))
    due = date.fromisoformat(request["order_date"]) + timedelta(days=PAYMENT_DAYS)
    return {
        "invoice_number": "INV-" + request["order_number"].removeprefix("ORD-"),
        "order_number": request["order_number"],
        "customer": request["customer"],
        "lines": request["lines"],
        **{name: request["pricing"][name] for name in FIGURES},
        "terms": f"NET-{PAYMENT_DAYS}",
        "due_date": due.isoformat(),
    }


# Small words the rules are written in.


def cents(amount: Decimal) -> Decimal:
    """Round half up to two decimals."""
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def percent_of(rate: str, amount: Decimal) -> Decimal:
    """Return the given percentage of an amount, in cents."""
    return cents(Decimal(rate) * amount / 100)


def parse_date(value: Json) -> date | None:
    """Read YYYY-MM-DD, and only that: Python itself would take week dates too."""
    try:
        return date.fromisoformat(value) if _matches(_DATE, value) else None
    except ValueError:
        return None


def _matches(pattern: re.Pattern[str], value: Json) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_quantity(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_QUANTITY


def _is_line_list(lines: Json) -> bool:
    return isinstance(lines, list) and 1 <= len(lines) <= MAX_LINES


def _quoted(text: str) -> str:
    """Show a caller's text safely: escaped, and not at any length."""
    return json.dumps(text[:40])


def _reject(reasons: Iterable[str]) -> None:
    if cause := "; ".join(reasons):
        raise TaskFailed("OrderRejected", cause)


# The workers.

TABLES = load_tables(Path(__file__).with_suffix(""))


@task("ValidateOrder")
def validate_order(order: Json) -> Json:
    """Check the order; return the customer's name and the discount code."""
    return validated(order, TABLES)


@task("CalculatePricing")
def calculate_pricing(request: Json) -> Json:
    """Price the order."""
    return priced(request, TABLES)


@task("GenerateInvoice")
def generate_invoice(request: Json) -> Json:
    """Write the invoice, the output of the run."""
    return invoiced(request)
