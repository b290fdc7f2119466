"""A story played to a registry in this process, as its users do it: the answers to its questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from strategies.fleets.languages import LANGUAGES
from strategies.fleets.shapes import printed
from strategies.fleets.story import CanDeploy, CanRegister, Deploy, Publish, Retain, Undeploy
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from strategies.fleets.shapes import Shape
    from strategies.fleets.story import Event, FieldRead, Offer, Port, Question

BASE: Final = "/contracts/v1"
_VALUES, _KEYS = "./values.schema", "./keys.schema"
_BLOCKING: Final = frozenset({"INCOMPATIBLE", "EXPECTATION_BROKEN"})


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question: the consumers that are named as broken, as approved, and all reasons in words."""

    deployable: bool | None
    broken: frozenset[str]
    approved: frozenset[str]
    words: tuple[str, ...]


class Player:
    """A registry to which events happen."""

    def __init__(self, language: str) -> None:
        self.registry = InProcessRegistry()
        self._language = LANGUAGES[language]
        self._ids: dict[tuple[str, str], set[int]] = {}
        self._published: set[tuple[str, str]] = set()

    async def begin(self) -> None:
        """Create the environments; the level is no matter here."""
        for name in ("production", "staging"):
            await self._done(self.registry.put(f"{BASE}/environments/{name}", {"production": name == "production"}))
        await self._done(self.registry.put("/config", {"compatibility": "NONE"}))

    async def _done(self, request: Any) -> Any:
        reply = await request
        assert reply.status in {200, 204}, f"{reply.status}: {reply.text}"
        return reply.json if reply.body else None

    async def apply(self, event: Event) -> None:
        """Let an event happen; one that is about a version that was not published does nothing."""
        if isinstance(event, Publish):
            await self.publish(event)
        elif isinstance(event, Retain):
            await self._retain(event)
        elif (event.application, event.version) in self._published:
            if isinstance(event, Deploy):
                await self._deploy(event)
            else:
                await self._undeploy(event)

    async def publish(self, event: Publish, branch: str = "") -> None:
        """Publish a version, which may come from a branch."""
        contracts = [self._contract(each, event.number) for each in event.offers]
        if event.ports:
            contracts.append(self._product(event))
        body = {"application": event.application, "version": event.version, "contracts": contracts, "branch": branch}
        await self._done(self.registry.post(f"{BASE}/publish", body))
        self._published.add((event.application, event.version))

    def _schema(self, shape: Shape) -> dict[str, str]:
        return {"schemaType": self._language.name, "schema": self._language.text(shape)}

    def _contract(self, offer: Offer, number: int) -> dict[str, Any]:
        return {"content": json.dumps(contract_document(offer, number)), "schemas": self._schemas_of(offer)}

    def _schemas_of(self, offer: Offer) -> dict[str, Any]:
        keys = {} if offer.key is None else {_KEYS: self._schema(offer.key)}
        return {_VALUES: self._schema(offer.shape), **keys}

    def _product(self, event: Publish) -> dict[str, Any]:
        declared = {f"./{each.topic}.reader": self._schema(each.declared) for each in event.ports if each.declared}
        content = json.dumps(product_document(event))
        return {"content": content, "schemas": declared} if declared else {"content": content}

    async def _deploy(self, event: Deploy) -> None:
        version = {"application": event.application, "version": event.version}
        if event.is_approved:
            found = await self._verdict(CanDeploy(event.environment, event.application, event.version))
            breaks = [each["fingerprint"] for each in found["reasons"] if each.get("fingerprint")]
            body = {"fingerprints": sorted(set(breaks)), "owner": "ana", "reason": "agreed", "until": "2999-12-31"}
            if breaks:
                await self._done(self.registry.post(f"{BASE}/approvals", body))
        kind = "releases" if event.is_release else "deployments"
        own = {} if event.is_release or not event.instance else {"instance": event.instance}
        await self._done(self.registry.post(f"{BASE}/environments/{event.environment}/{kind}", {**version, **own}))

    async def _undeploy(self, event: Undeploy) -> None:
        for kind in ("deployments", "releases"):
            path = f"{BASE}/environments/{event.environment}/{kind}"
            for each in await self._done(self.registry.get(f"{path}?application={event.application}")):
                if each["version"] == event.version and each["application"] == event.application:
                    await self._done(self.registry.delete(f"{path}/{each['id']}"))

    async def _retain(self, event: Retain) -> None:
        ids = self._ids.setdefault((event.environment, event.topic), set())
        for each in event.shapes:
            path = f"/subjects/{event.topic}-value/versions"
            ids.add((await self._done(self.registry.post(path, self._schema(each))))["id"])
        counted = [{"schemaId": each, "count": 1} for each in sorted(ids)]
        body = {"environment": event.environment, "records": len(ids), "complete": True, "schemas": counted}
        await self._done(self.registry.post(f"{BASE}/topics/{event.topic}/stats", body))

    async def answer(self, question: Question) -> Answered:
        """Return the registry's answer."""
        if isinstance(question, CanRegister):
            return await self._registration(question)
        found = await self._verdict(question)
        named = {"broken": set[str](), "approved": set[str]()}
        for each in found["reasons"]:
            if each["reason"] in _BLOCKING:
                named["broken"].add(each.get("consumer", ""))
            elif each["reason"] == "APPROVED_BREAK":
                named["approved"].add(each.get("consumer", ""))
        words = [f"{each['reason']} {each['text']}" for each in found["reasons"]]
        words += [f"notice {each}" for each in found.get("notices", ())]
        return Answered(found["deployable"], frozenset(named["broken"]), frozenset(named["approved"]), tuple(words))

    async def _verdict(self, question: CanDeploy) -> Any:
        query = f"application={question.application}&version={question.version}&environment={question.environment}"
        return await self._done(self.registry.get(f"{BASE}/can-i-deploy?{query}"))

    async def _registration(self, question: CanRegister) -> Answered:
        subject = f"{question.topic}-value"
        await self._done(self.registry.put(f"/config/{subject}", {"compatibilityPolicy": "CONSUMERS"}))
        path = f"/compatibility/subjects/{quote(subject)}/versions?verbose=true"
        found = await self._done(self.registry.post(path, self._schema(question.shape)))
        await self._done(self.registry.delete(f"/config/{subject}"))
        words = tuple(found.get("messages") or ())
        names = frozenset(each for each in ("billing", "audit", "search") if any(each in one for one in words))
        return Answered(found["is_compatible"], names, frozenset(), words)


def contract_document(offer: Offer, number: int, link: str = _VALUES) -> dict[str, Any]:
    """Return the contract of a producer: the units of its fields, and the schema of its keys."""
    own = []
    if offer.key is not None:
        key = {"subject": f"{offer.topic}-key", "schema": _KEYS}
        own = [{"property": "messageKey", "value": key}]
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": offer.topic,
        "version": f"1.{number}.0",
        "status": "active",
        "schema": [
            {
                "name": "Order",
                "physicalName": offer.topic,
                "authoritativeDefinitions": [{"type": "schema", "url": link}],
                **({"properties": properties} if (properties := _properties(offer.shape)) else {}),
                **({"customProperties": own} if own else {}),
            }
        ],
    }


def _properties(shape: Shape) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "customProperties": [{"property": "unit", "value": each.unit}]}
        for each in shape.fields
        if each.unit
    ]


def product_document(event: Publish, suffix: str = ".reader") -> dict[str, Any]:
    """Return the file of a consumer."""
    return {
        "apiVersion": "v1.0.0",
        "kind": "DataProduct",
        "id": event.application,
        "version": f"{event.number}.0.0",
        "status": "active",
        "inputPorts": [_port(each, suffix) for each in event.ports],
    }


def _port(port: Port, suffix: str) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if port.reads is not None:
        own["reads"] = [*(_read(each) for each in port.reads), *(_read(each, "$key.") for each in port.key_reads)]
    if port.declared is not None:
        own["readerSchema"] = f"./{port.topic}{suffix}"
    if port.on_unknown_enum:
        own["onUnknownEnum"] = port.on_unknown_enum
    if port.is_from_start:
        own["reprocessesFrom"] = "retention"
    properties = [{"property": name, "value": value} for name, value in own.items()]
    made: dict[str, Any] = {"name": port.topic, "version": "1", "contractId": port.topic}
    return {**made, **({"customProperties": properties} if properties else {})}


def _read(read: FieldRead, prefix: str = "") -> Any:
    path = f"{prefix}{printed(read.path)}"
    return {"path": path, "required": True} if read.is_required else path
