"""Every page of the shop's registry, in its states, by name."""

from __future__ import annotations

import json
from typing import Final

from counterfoil.registry.web.drafts import pack_draft
from strategies.pages.shop import ORDERS, REFUSED, orders

DRAFT: Final = {
    "subject": ORDERS,
    "schema": json.dumps(orders(7, total="string")),
    "schema_type": "AVRO",
    "references": "shop.Money common-money-value 1",
}
"""A draft that breaks readers."""

GOOD_DRAFT: Final = {"subject": ORDERS, "schema": json.dumps(orders(6)), "schema_type": "AVRO"}

PAGES: Final[dict[str, str]] = {
    "home": "/ui/",
    "help": "/ui/help",
    "registry": "/ui/admin/index",
    "search": "/ui/search?q=email",
    "search, empty": "/ui/search",
    "search, no hits": "/ui/search?q=zzzzqqq",
    "search, id": "/ui/search?q=3",
    "search, any version": "/ui/search?q=note&in=any",
    "subjects": "/ui/subjects",
    "subjects, none": "/ui/subjects?prefix=zzz",
    "subjects, context": "/ui/subjects?context=.eu",
    "subject": f"/ui/subjects/{ORDERS}",
    "subject, references": f"/ui/subjects/{ORDERS}?tab=references",
    "subject, rules": f"/ui/subjects/{ORDERS}?tab=rules",
    "subject, changes": f"/ui/subjects/{ORDERS}?tab=changes",
    "subject, readers": f"/ui/subjects/{ORDERS}?tab=readers",
    "subject, refusals": f"/ui/subjects/{ORDERS}?tab=refusals",
    "subject, slash": "/ui/subjects/shop%2Fmoney.proto",
    "subject, context": "/ui/subjects/:.eu:crm-value",
    "subject, as of": f"/ui/subjects/{ORDERS}?as_of=5",
    "version": f"/ui/subjects/{ORDERS}/versions/7",
    "version, latest": f"/ui/subjects/{ORDERS}/versions/latest",
    "version, deleted": f"/ui/subjects/{ORDERS}/versions/5",
    "version, source": f"/ui/subjects/{ORDERS}/versions/7?view=source",
    "version, raw": f"/ui/subjects/{ORDERS}/versions/7?view=raw",
    "version, JSON": "/ui/subjects/carts-value/versions/3",
    "version, JSON source": "/ui/subjects/carts-value/versions/3?view=source",
    "version, Protobuf": "/ui/subjects/payments-value/versions/3",
    "version, Protobuf source": "/ui/subjects/payments-value/versions/3?view=source",
    "version, as of": f"/ui/subjects/{ORDERS}/versions/1?as_of=6",
    "version by query": f"/ui/subject?name={ORDERS}&version=7",
    "element": f"/ui/subjects/{ORDERS}/elements?path=customer.email",
    "element, gone": f"/ui/subjects/{ORDERS}/elements?path=note",
    "references": "/ui/subjects/common-money-value/versions/1/references?direction=in",
    "id": "/ui/ids/1",
    "compare": f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7",
    "compare, split": f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7&view=split",
    "compare, inline": f"/ui/compare?from={ORDERS}@3&to={ORDERS}@7&view=inline",
    "compare, equal": f"/ui/compare?from={ORDERS}@7&to=refunds-value@1",
    "compare, languages": f"/ui/compare?from={ORDERS}@7&to=payments-value@1",
    "compare, form": "/ui/compare",
    "compare, JSON": "/ui/compare?from=carts-value@1&to=carts-value@3",
    "compare, Protobuf": "/ui/compare?from=payments-value@1&to=payments-value@3",
    "try": "/ui/try",
    "try, refused": f"/ui/try?draft={pack_draft(DRAFT)}",
    "try, accepted": f"/ui/try?draft={pack_draft(GOOD_DRAFT)}",
    "try, no schema": f"/ui/try?draft={pack_draft({**GOOD_DRAFT, 'schema': '{'})}",
    "decode": "/ui/decode",
    "refusals": "/ui/refusals",
    "refusal": f"/ui/refusals/{REFUSED}",
    "changes": "/ui/changes",
    "changes, filtered": f"/ui/changes?kind=version-registered&subject={ORDERS}",
    "rules": "/ui/rules",
    "rules, found": "/ui/rules?lang=AVRO&q=type",
    "rule": "/ui/rules/type-mismatch",
    "topic": "/ui/topics/orders",
}
"""Pages that are answered 200, by name."""

ABSENT: Final[dict[str, tuple[str, int]]] = {
    "no page": ("/ui/none", 404),
    "no subject": ("/ui/subjects/order-value", 404),
    "no version": (f"/ui/subjects/{ORDERS}/versions/99", 404),
    "no id": ("/ui/ids/999999", 404),
    "no moment": ("/ui/subjects?as_of=never", 400),
}
"""Pages that are answered with errors, by name: the path and the status."""
