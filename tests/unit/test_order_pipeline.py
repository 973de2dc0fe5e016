"""The rules of the example job, as sentences; the file under test is loaded by its path."""

import copy
import importlib.util
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.worker import TaskFailed
from tests.support.paths import ROOT
from tests.support.tables import rows

WORKFLOWS = ROOT / "workflows"
EXAMPLES = WORKFLOWS / "order_processing"


def load_pipeline() -> ModuleType:
    spec = importlib.util.spec_from_file_location("order_processing", WORKFLOWS / "order_processing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


pipeline = load_pipeline()
TABLES = pipeline.TABLES
FIRST_ORDER = read(EXAMPLES / "order.json")
WORKFLOW = read(WORKFLOWS / "order_processing.json")
WORKERS = {
    "ValidateOrder": pipeline.validate_order,
    "CalculatePricing": pipeline.calculate_pricing,
    "GenerateInvoice": pipeline.generate_invoice,
}


def follow(path: str, data: Any) -> Any:
    """Evaluate the plain reference paths the workflow uses."""
    for name in path.split(".")[1:]:
        data = data[name]
    return data


def run(order: Any) -> Any:
    """Walk the workflow document by hand: Parameters, worker, ResultPath, Next."""
    data, name = copy.deepcopy(order), WORKFLOW["asl"]["StartAt"]
    while name:
        state = WORKFLOW["asl"]["States"][name]
        parameters = state.get("Parameters")
        given_input = {k.removesuffix(".$"): follow(p, data) for k, p in parameters.items()} if parameters else data
        result = WORKERS[name](given_input)
        data = {**data, state["ResultPath"].removeprefix("$."): result} if "ResultPath" in state else result
        name = state.get("Next")
    return data


def order(**changes: Any) -> dict[str, Any]:
    """Return the first order with some keys changed."""
    return {**copy.deepcopy(FIRST_ORDER), **changes}


def line(sku: Any = "BOLT-M8", quantity: Any = 1, unit_price: Any = "1.00") -> dict[str, Any]:
    return {"sku": sku, "quantity": quantity, "unit_price": unit_price}


def ship_to(state: Any = "TX", zip_code: Any = "78701") -> dict[str, Any]:
    return {"state": state, "zip": zip_code}


def bill(unit_price: str, *, code: str | None = None, state: str = "OR", zip_code: str = "78701") -> Any:
    """Price a single line; Oregon by default, where tax does not interfere."""
    request = {
        "order_date": "2025-01-30",
        "lines": [line(unit_price=unit_price)],
        "state": state,
        "zip": zip_code,
        "discount_code": code,
    }
    return pipeline.priced(request, TABLES)


def reasons(document: Any) -> list[str]:
    return list(pipeline.order_reasons(document, TABLES))


# The examples


def test_the_first_order_gives_the_invoice_of_the_specification() -> None:
    assert run(FIRST_ORDER) == {
        "invoice_number": "INV-2025-0042",
        "order_number": "ORD-2025-0042",
        "customer": "Hill Country Supply",
        "lines": FIRST_ORDER["lines"],
        "subtotal": "239.96",
        "discount": "24.00",
        "tax": "17.82",
        "shipping": "8.99",
        "total": "242.77",
        "terms": "NET-30",
        "due_date": "2025-03-01",
    }


def test_the_invoice_keeps_its_keys_in_the_documented_order() -> None:
    documented = "invoice_number order_number customer lines subtotal discount tax shipping total terms due_date"
    assert " ".join(run(FIRST_ORDER)) == documented


@rows(
    ("name", "figures"),
    [
        ("california_free_shipping", ["599.96", "5.00", "43.13", "0.00", "638.09"]),
        ("new_york_no_discount", ["335.80", "0.00", "29.80", "11.99", "377.59"]),
    ],
)
def test_the_other_good_orders_are_billed_by_the_same_rules(name: str, figures: list[str]) -> None:
    invoice = run(read(EXAMPLES / "orders" / f"{name}.json"))
    assert [invoice[figure] for figure in pipeline.FIGURES] == figures


def test_the_rejected_order_is_told_every_reason_at_once() -> None:
    with pytest.raises(TaskFailed) as failure:
        run(read(EXAMPLES / "orders" / "rejected.json"))
    assert failure.value.error == "OrderRejected"
    assert failure.value.cause.split("; ") == [
        'customer "CUST-9090" is not active',
        'SKU "WIDGET-Z" does not exist',
        'SKU "PANEL-XL": 4 ordered but only 3 in stock',
        "zip must be a string of five digits",
    ]


def test_the_order_with_an_expired_code_fails_in_pricing() -> None:
    expired = read(EXAMPLES / "orders" / "expired_discount.json")
    assert pipeline.validated(expired, TABLES)["discount_code"] == "SPRING24"
    with pytest.raises(TaskFailed) as failure:
        run(expired)
    assert failure.value.error == "InvalidDiscount"
    cause = 'discount code "SPRING24" was valid until 2024-06-30; the order is of 2025-04-01'
    assert failure.value.cause == cause


# Pricing


@rows(
    ("unit_price", "subtotal"),
    [("0.005", "0.01"), ("0.0049", "0.00"), ("1.115", "1.12"), ("2.5", "2.50"), ("7", "7.00")],
)
def test_the_subtotal_is_rounded_half_up_to_cents(unit_price: str, subtotal: str) -> None:
    assert bill(unit_price)["subtotal"] == subtotal


def test_the_subtotal_is_rounded_once_not_per_line() -> None:
    lines = [line(unit_price="0.004"), line(unit_price="0.004")]
    assert pipeline.subtotal_of(lines) == Decimal("0.01")


def test_a_percentage_discount_is_rounded_half_up_to_cents() -> None:
    assert bill("0.25", code="SAVE10")["discount"] == "0.03"


def test_tax_is_rounded_half_up_to_cents() -> None:
    assert bill("2.00", state="TX")["tax"] == "0.17"  # 0.165


def test_tax_is_taken_on_the_discounted_subtotal() -> None:
    assert bill("105.00", code="FLAT5", state="CA")["tax"] == "7.25"


def test_oregon_has_no_tax() -> None:
    assert bill("100.00", state="OR")["tax"] == "0.00"


def test_a_fixed_discount_is_never_more_than_the_subtotal() -> None:
    figures = bill("3.20", code="FLAT5", state="TX")
    assert list(figures.values()) == ["3.20", "3.20", "0.00", "8.99", "8.99"]


@rows(("first_digit", "price"), [("7", "8.99"), ("1", "11.99"), ("9", "14.99"), ("0", "19.99"), ("5", "19.99")])
def test_shipping_goes_by_the_first_digit_of_the_zip(first_digit: str, price: str) -> None:
    assert bill("1.00", zip_code=f"{first_digit}0001")["shipping"] == price


@rows(("unit_price", "shipping"), [("505.00", "0.00"), ("504.99", "8.99")])
def test_shipping_is_free_from_a_discounted_subtotal_of_500(unit_price: str, shipping: str) -> None:
    assert bill(unit_price, code="FLAT5")["shipping"] == shipping


@rows("missing", [True, False])
def test_an_order_without_a_discount_code_has_no_discount(missing: bool) -> None:
    document = order(discount_code=None)
    if missing:
        del document["discount_code"]
    assert run(document)["discount"] == "0.00"


def test_a_code_is_good_on_its_last_day() -> None:
    assert run(order(order_date="2025-12-31"))["discount"] == "24.00"


@rows("changes", [{"order_date": "2026-01-01"}, {"discount_code": "save10"}, {"discount_code": ""}])
def test_an_expired_or_unknown_code_fails_the_run(changes: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed) as failure:
        run(order(**changes))
    assert failure.value.error == "InvalidDiscount"


# The invoice


@rows(
    ("order_date", "due_date"),
    [("2024-01-30", "2024-02-29"), ("2025-12-31", "2026-01-30"), ("9999-12-01", "9999-12-31")],
)
def test_the_invoice_is_due_after_thirty_days(order_date: str, due_date: str) -> None:
    assert run(order(order_date=order_date, discount_code=None))["due_date"] == due_date


def test_only_the_leading_ord_is_replaced() -> None:
    assert run(order(order_number="ORD-X-ORD-1"))["invoice_number"] == "INV-X-ORD-1"


# Stock and address


def test_lines_of_the_same_sku_add_up() -> None:
    two_lines = [line("PANEL-XL", 2), line("PANEL-XL", 2)]
    assert reasons(order(lines=two_lines)) == ['SKU "PANEL-XL": 4 ordered but only 3 in stock']


def test_the_whole_stock_may_be_ordered() -> None:
    assert reasons(order(lines=[line("PANEL-XL", 2), line("PANEL-XL", 1)])) == []


def test_an_unknown_sku_is_reported_even_when_its_quantity_is_wrong() -> None:
    assert len(reasons(order(lines=[line("NO-SUCH", 0)]))) == 2


def test_names_from_outside_are_shown_escaped_and_shortened() -> None:
    (reason,) = reasons(order(customer_id="\ud800\n" + "x" * 1000))
    assert reason.isascii()
    assert len(reason) < 100


# Malformed orders

BAD_QUANTITIES = [True, False, 1.5, 3.0, "3", 0, -1, float("nan"), float("inf"), None, [], {}, 10**5000]
BAD_PRICES = [
    "abc",
    "",
    "-1.00",
    "+1",
    "NaN",
    "Infinity",
    "1e999",
    "1e2",
    "1_0",
    " 1",
    "٣",
    "1.",
    ".5",
    "1,00",
]
BAD_PRICES += ["1.00\n", "9" * 10, "0.00001"]
NOT_ORDERS: list[Any] = [None, True, 1, 1.5, "order", [], [FIRST_ORDER], {}]
NOT_LINES: list[Any] = [[], {}, None, "abc", 3, [None], [[]], [{}], [1, "x"]]
NOT_ADDRESSES: list[Any] = [None, "Austin", 1, [], {}]
NOT_STRINGS: list[Any] = [None, 1, 29.99, True, [], {}]
BAD_DATES = [
    "2025-13-40",
    "2025-02-29",
    "0000-01-01",
    "20250130",
    "2025-W05-4",
    "2025-01-30T00:00",
    "9999-12-31",
]
BAD_NUMBERS = ["2025-0042", "ORD-", "ord-1", "ORD- 1", "ORD-\ud800", "XORD-1", "ORD-" + "1" * 100]
BAD_ZIPS = ["7870A", "7870", "787011", "78701-1234", "٧٨٧٠١", "78701\n", ""]

MALFORMED: dict[str, Any] = {
    **{f"the order is {value!r}": value for value in NOT_ORDERS},
    **{f"without {key}": {k: v for k, v in FIRST_ORDER.items() if k != key} for key in list(FIRST_ORDER)[:-1]},
    **{f"quantity {str(type(q))[8:-2]} {i}": order(lines=[line(quantity=q)]) for i, q in enumerate(BAD_QUANTITIES)},
    **{f"unit_price {p!a:.20}": order(lines=[line(unit_price=p)]) for p in BAD_PRICES + NOT_STRINGS},
    **{f"sku {sku!r}": order(lines=[line(sku=sku)]) for sku in ["", "widget-a", *NOT_STRINGS]},
    **{f"lines {lines!r:.20}": order(lines=lines) for lines in NOT_LINES},
    "more lines than anybody orders": order(lines=[line()] * 501),
    **{f"order_date {day!r}": order(order_date=day) for day in BAD_DATES + NOT_STRINGS},
    **{f"order_number {number!a:.20}": order(order_number=number) for number in BAD_NUMBERS + NOT_STRINGS},
    **{f"customer_id {name!r}": order(customer_id=name) for name in ["CUST-0", "CUST-9090", *NOT_STRINGS]},
    **{f"ship_to {address!r}": order(ship_to=address) for address in NOT_ADDRESSES},
    **{f"state {state!r}": order(ship_to=ship_to(state=state)) for state in ["tx", "FL", "", *NOT_STRINGS]},
    **{f"zip {zip_code!a}": order(ship_to=ship_to(zip_code=zip_code)) for zip_code in BAD_ZIPS + NOT_STRINGS},
    **{f"discount_code {code!r}": order(discount_code=code) for code in NOT_STRINGS[1:]},
}


@rows("document", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_order_is_rejected_in_plain_words(document: Any) -> None:
    with pytest.raises(TaskFailed) as failure:
        pipeline.validate_order(document)
    assert failure.value.error == "OrderRejected"
    assert failure.value.cause


def test_several_faults_give_several_reasons() -> None:
    faulty = order(order_number=7, lines=[line(quantity=0, unit_price="abc"), None], ship_to=None)
    assert len(reasons(faulty)) == 5


# Nothing but TaskFailed

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def or_anything(*good: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(good) | anything


order_like = st.fixed_dictionaries(
    {},
    optional={
        "order_number": or_anything("ORD-1"),
        "order_date": or_anything("2025-01-30") | st.dates().map(str),
        "customer_id": or_anything("CUST-1234", "CUST-9090"),
        "customer": anything,
        "lines": anything
        | st.lists(
            st.fixed_dictionaries(
                {
                    "sku": or_anything("BOLT-M8"),
                    "quantity": or_anything(1, 3),
                    "unit_price": or_anything("2.50") | st.decimals().map(str),
                }
            )
        ),
        "ship_to": anything | st.fixed_dictionaries({"state": or_anything("TX"), "zip": or_anything("78701")}),
        "state": or_anything("TX"),
        "zip": or_anything("78701"),
        "discount_code": or_anything(None, "SAVE10", "SPRING24"),
        "pricing": anything,
    },
)


def outcome(worker: Callable[[Any], Any], document: Any) -> str:
    """Return the error name of a worker's answer, or nothing if it succeeds with strict JSON."""
    try:
        json.dumps(worker(document), allow_nan=False)
    except TaskFailed as failure:
        return failure.error
    return ""


@pytest.mark.parametrize("worker", [*WORKERS.values(), run])
@given(document=anything | order_like)
def test_no_json_value_raises_anything_but_task_failed(worker: Callable[[Any], Any], document: Any) -> None:
    assert outcome(worker, document) in {"", "OrderRejected", "InvalidDiscount"}
