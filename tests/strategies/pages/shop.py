"""A shop's registry: forty subjects in three languages, as requests that fill an empty registry."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
ORDERS: Final = "orders-value"
REFUSED: Final = "refused-total-as-text"
"""The request id of the refused registration."""

EMAIL_DOC: Final = "The customer's email, as typed."


@dataclass(frozen=True, slots=True)
class ShopRequest:
    """One request to the registry, and the status of its response."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


def _field(name: str, kind: Any, *, doc: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"doc": doc} if doc else {}), **more}


def _record(name: str, fields: list[dict[str, Any]], *, doc: str = "") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "namespace": "shop",
        **({"doc": doc} if doc else {}),
        "fields": fields,
    }


DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
MONEY: Final = _record("Money", [_field("amount", DECIMAL, doc="Net."), _field("currency", "string")])
STATUS: Final = {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"], "default": "NEW"}


def orders(version: int, *, total: Any = None) -> dict[str, Any]:
    """Return the schema of an order as of a version from 1 to 7."""
    kind = total or ("long" if version >= 6 else "int")
    fields = [_field("id", "long", doc="Order number."), _field("total", kind, doc="In cents.")]
    if version < 5:
        fields.append(_field("note", "string", default=""))
    if version >= 2:
        line = _record("Line", [_field("sku", "string"), _field("price", DECIMAL, doc="Net, per piece.")])
        fields.append(_field("lines", {"type": "array", "items": line}, default=[]))
    if version >= 3:
        email = _field("email", ["null", "string"], doc=EMAIL_DOC, default=None, **{"confluent:tags": ["PII"]})
        customer = _record("Customer", [_field("name", "string", default=""), email])
        fields.append(_field("customer", customer, default={"name": "", "email": None}))
    if version >= 4:
        fields.append(_field("status", STATUS, default="NEW"))
    if version >= 7:
        fields.append(_field("shipping", ["null", "shop.Money"], default=None))
    return _record("Order", fields, doc="An order, as the checkout writes it.")


def _carts(version: int) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "buyer": {"type": "object", "properties": {"email_address": {"type": "string", "description": EMAIL_DOC}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    }
    if version >= 2:
        properties["voucher"] = {"type": "string", "maxLength": 10}
    if version >= 3:
        properties["channel"] = {"enum": ["web", "app", "shop"]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Cart",
        "type": "object",
        "properties": properties,
        "required": ["items"],
        "additionalProperties": False,
    }


_PAYMENTS: Final = """syntax = "proto3";
package shop;
import "shop/money.proto";
// A payment of an order.
message Payment {
  // The order that is paid.
  int64 order_id = 1;
  shop.Money amount = 2;
  string method = 3;
%s}
"""
_MONEY_PROTO: Final = """syntax = "proto3";
package shop;
message Money {
  int64 cents = 1;
  string currency = 2;
}
"""
MONEY_REFERENCE: Final = {"name": "shop.Money", "subject": "common-money-value", "version": 1}
_PROTO_REFERENCE: Final = {"name": "shop/money.proto", "subject": "shop/money.proto", "version": 1}
_FILLERS: Final = [
    "accounts",
    "addresses",
    "audits",
    "baskets",
    "campaigns",
    "catalog",
    "claims",
    "clicks",
    "contacts",
    "coupons",
    "deliveries",
    "devices",
    "discounts",
    "events",
    "exports",
    "feeds",
    "forecasts",
    "inventory",
    "invoices",
    "labels",
    "ledgers",
    "logins",
    "prices",
    "products",
    "profiles",
    "returns",
    "reviews",
    "routes",
]


def registration(subject: str, schema: Any, kind: str = "AVRO", **more: Any) -> ShopRequest:
    """Return the request that registers a version."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    references = more.pop("references", None)
    body = {"schema": text, "schemaType": kind, **({"references": references} if references else {})}
    return ShopRequest("POST", f"/subjects/{quote(subject, safe='')}/versions", body, **more)


def order_registration(version: int, subject: str = ORDERS, **more: Any) -> ShopRequest:
    """Return the request that registers a version of orders."""
    references = [MONEY_REFERENCE] if version >= 7 else None
    return registration(subject, orders(version), references=references, **more)


def shop_requests() -> Iterator[ShopRequest]:
    """Yield the requests in their order."""
    yield ShopRequest("PUT", "/config", {"compatibility": "BACKWARD", "normalize": True})
    yield registration("common-money-value", MONEY)
    yield registration("orders-key", '"string"')
    for version in range(1, 6):
        yield order_registration(version)
    yield ShopRequest("DELETE", f"/subjects/{ORDERS}/versions/5")
    for version in (6, 7):
        yield order_registration(version)
    yield ShopRequest("PUT", f"/config/{ORDERS}", {"compatibility": "FULL"})
    yield registration(
        ORDERS, orders(7, total="string"), references=[MONEY_REFERENCE], headers={"X-Request-ID": REFUSED}, status=409
    )
    yield order_registration(7, "refunds-value")
    yield order_registration(6, ":.eu:crm-value")
    for version in range(1, 4):
        yield registration("carts-value", _carts(version), "JSON")
    yield registration("shop/money.proto", _MONEY_PROTO, "PROTOBUF")
    for addition in ("", "  string note = 4;\n", "  string note = 4;\n  bool express = 5;\n"):
        yield registration("payments-value", _PAYMENTS % addition, "PROTOBUF", references=[_PROTO_REFERENCE])
    for number, name in enumerate(_FILLERS):
        fields = [_field(f"{name[:-1]}_id", "long", doc=f"Number of the {name[:-1]}."), _field("customer_id", "long")]
        yield registration(f"{name}-value", _record(name.capitalize(), fields))
        if number % 3 == 0:
            yield registration(f"{name}-value", _record(name.capitalize(), [*fields, _field("at", "long", default=0)]))


def fill_shop(url: str, *, credentials: Mapping[str, str] | None = None) -> None:
    """Send the requests to the registry at ``url``; an unexpected status is an error."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    for each in shop_requests():
        headers = {"Content-Type": MEDIA_TYPE, **each.headers, **(credentials or {})}
        connection.request(each.method, each.path, None if each.body is None else json.dumps(each.body), headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        assert reply.status == each.status, (each, reply.status, text)
    connection.close()
