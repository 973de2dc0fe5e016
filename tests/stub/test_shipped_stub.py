"""The stub tools that ship with dcf: with them the example orders come out as the pipeline's own rules say."""

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest
from mcp.client import Client

from dcf.worker import TaskFailed
from tests.stub.conftest import Serve, Stub
from tests.support.paths import ROOT
from tests.support.tables import rows

pytestmark = pytest.mark.anyio

CONFIG = json.loads((ROOT / "generated" / "stub" / "stub_config.json").read_text("utf-8"))
ORDERS = ROOT / "workflows" / "order_processing"
Json = Any


def _pipeline() -> ModuleType:
    path = ROOT / "workflows" / "order_processing.py"
    spec = importlib.util.spec_from_file_location("order_rules", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RULES = _pipeline()


def read(name: str) -> Json:
    return json.loads((ORDERS / name).read_text("utf-8"))


class Shop:
    """Calls the stub's tools as the three skills direct an agent, and adds sums alone."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Json) -> Json:
        result = await self._client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def validate(self, order: Json) -> list[str]:
        reasons = []
        customer = await self.call("verify_customer", customer_id=order["customer_id"])
        if not (customer["exists"] and customer["active"]):
            reasons.append("customer")
        quantities = RULES.quantities_by_sku(order["lines"])
        for sku, quantity in quantities.items():
            stock = await self.call("check_inventory", sku=sku)
            if not stock["exists"] or stock["on_hand"] < quantity:
                reasons.append(sku)
        address = await self.call("validate_address", state=order["ship_to"]["state"], zip=order["ship_to"]["zip"])
        return reasons if address["valid"] else [*reasons, "address"]

    async def price(self, order: Json) -> Json:
        subtotal = (await self.call("calculate_subtotal", lines=order["lines"]))["subtotal"]
        code, discount = order.get("discount_code"), "0.00"
        if code is not None:
            answer = await self.call("apply_discount", code=code, subtotal=subtotal, order_date=order["order_date"])
            assert answer["valid"], answer["reason"]
            discount = answer["discount"]
        amount = _sum(subtotal, minus=discount)
        tax = (await self.call("calculate_tax", amount=amount, state=order["ship_to"]["state"]))["tax"]
        shipping = (await self.call("calculate_shipping", amount=amount, zip=order["ship_to"]["zip"]))["shipping"]
        figures = {"subtotal": subtotal, "discount": discount, "tax": tax, "shipping": shipping}
        return figures | {"total": _sum(amount, tax, shipping)}

    async def invoice(self, order: Json) -> Json:
        customer = (await self.call("verify_customer", customer_id=order["customer_id"]))["name"]
        value = {name: order[name] for name in ("order_number", "order_date", "lines")}
        return await self.call("create_invoice", **value, customer=customer, pricing=await self.price(order))


def _sum(*amounts: str, minus: str = "0") -> str:
    return str(RULES.cents(sum(map(RULES.Decimal, amounts)) - RULES.Decimal(minus)))


def by_rules(order: Json) -> Json:
    validated = RULES.validate_order(order)
    ship_to = order["ship_to"]
    request = {"order_date": order["order_date"], "lines": order["lines"], "state": ship_to["state"]}
    request |= {"zip": ship_to["zip"], "discount_code": validated["discount_code"]}
    pricing = RULES.calculate_pricing(request)
    value = {name: order[name] for name in ("order_number", "order_date", "lines")}
    return RULES.generate_invoice(value | {"customer": validated["customer"], "pricing": pricing})


@pytest.fixture
def stub(serve: Serve) -> Stub:
    return serve(CONFIG)


async def test_the_first_order_has_exactly_the_figures_that_it_must_have(stub: Stub) -> None:
    async with stub.client() as client:
        invoice = await Shop(client).invoice(read("order.json"))
    assert {name: invoice[name] for name in ("subtotal", "discount", "tax", "shipping", "total")} == {
        "subtotal": "239.96",
        "discount": "24.00",
        "tax": "17.82",
        "shipping": "8.99",
        "total": "242.77",
    }
    assert (invoice["invoice_number"], invoice["terms"], invoice["due_date"]) == (
        "INV-2025-0042",
        "NET-30",
        "2025-03-01",
    )
    assert stub.metrics()["case_hits"]["orders:verify_customer:customer_valid"] == 1


@rows("name", ["order.json", "orders/california_free_shipping.json", "orders/new_york_no_discount.json"])
async def test_the_tools_agree_with_the_rules_of_the_pipeline(stub: Stub, name: str) -> None:
    order = read(name)
    async with stub.client() as client:
        assert await Shop(client).validate(order) == []
        assert await Shop(client).invoice(order) == by_rules(order)


async def test_an_order_that_the_rules_reject_is_rejected_by_the_tools_too(stub: Stub) -> None:
    order = read("orders/rejected.json")
    async with stub.client() as client:
        assert await Shop(client).validate(order) == ["customer", "WIDGET-Z", "PANEL-XL", "address"]
    with pytest.raises(TaskFailed):
        by_rules(order)


async def test_an_expired_discount_is_no_discount(stub: Stub) -> None:
    async with stub.client() as client:
        with pytest.raises(AssertionError, match="valid until 2024-06-30"):
            await Shop(client).price(read("orders/expired_discount.json"))


async def test_each_server_has_its_tools_at_its_own_address(stub: Stub) -> None:
    registry = json.loads((ROOT / "skills_src" / "registry.json").read_text("utf-8"))
    result = {}
    for server in registry["servers"]:
        async with stub.client(server) as client:
            result[server] = {tool.name for tool in (await client.list_tools()).tools}
    assert result["orders"] == {"verify_customer", "check_inventory", "validate_address"}
    assert result["pricing"] == {"calculate_subtotal", "apply_discount", "calculate_tax", "calculate_shipping"}
    assert result["documents"] == {"create_invoice"}
    assert set(result) == set(CONFIG["servers"])


async def test_the_support_session_has_what_it_needs(stub: Stub) -> None:
    async with stub.client() as client:
        shop = Shop(client)
        account = await shop.call("get_account", account_id="ACCT-7890")
        symptom = "My nightly export stops half-way."
        diagnosis = await shop.call("run_diagnostics", account_id="ACCT-7890", symptom=symptom)
        articles = (await shop.call("search_articles", area=diagnosis["area"]))["articles"]
        template = (await shop.call("get_reply_template", area=diagnosis["area"]))["template"]
    assert account["name"] == "Michael Chen"
    assert (diagnosis["area"], diagnosis["checked_at"]) == ("export", "2025-01-30T12:00:00+00:00")
    assert [article["id"] for article in articles] == ["KB-31"]
    assert all(hole in template for hole in ("{name}", "{cause}", "{article}"))


def test_every_case_of_the_shipped_stub_has_an_answer_or_an_error() -> None:
    tools = [tool for server in CONFIG["servers"].values() for tool in server["tools"].values()]
    cases = [case for tool in tools for case in tool["cases"]]
    assert (len(tools), len(cases)) == (13, 37)
    assert all(case.keys() & {"response", "responseTemplate", "errorMode"} for case in cases)
