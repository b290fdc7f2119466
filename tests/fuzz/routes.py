"""Requests to a served registry that are made of a genome: one for each kind of route that takes more than a name."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from strategies.cases.dear_inputs import TEXTS, Genome, bridge_rules, contract_text, rule_set
from strategies.contracts.stories import expectation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Asked: TypeAlias = "tuple[str, str, Any]"
"""Method, path, and the body as JSON."""

Requests: TypeAlias = "tuple[Sequence[Asked], Asked]"
"""The requests before one that is measured, and that one."""

Route: TypeAlias = "Callable[[Genome, int], Requests]"
"""Returns the requests of a genome; the number makes their names and texts other ones each time."""

C: Final = "/contracts/v1"


def _subject(number: int) -> str:
    return f"dear-{number}"


def _schema(language: str, genome: Genome, number: int, *, is_later: bool, **more: Any) -> dict[str, Any]:
    """Return a body with a schema, whose text ends with white space that says the number."""
    text = TEXTS[language](genome, is_later=is_later) + " " * (number % 97) + "\n" * (number // 97 % 97)
    return {"schema": text, "schemaType": language, **more}


def _judged(language: str, policy: str, genome: Genome, number: int) -> Requests:
    before = (
        ("PUT", f"/config/{_subject(number)}", {"compatibility": "FULL", "compatibilityPolicy": policy}),
        ("POST", f"/subjects/{_subject(number)}/versions", _schema(language, genome, number, is_later=False)),
    )
    later = _schema(language, genome, number, is_later=True)
    return before, ("POST", f"/compatibility/subjects/{_subject(number)}/versions?verbose=true", later)


def _registered(language: str, genome: Genome, number: int) -> Requests:
    before, (_, _, later) = _judged(language, "STRICT", genome, number)
    return before, ("POST", f"/subjects/{_subject(number)}/versions?normalize=true", later)


def _looked_up(language: str, genome: Genome, number: int) -> Requests:
    before, (_, _, later) = _judged(language, "STRICT", genome, number)
    return before, ("POST", f"/subjects/{_subject(number)}?normalize=true", later)


def _printed(language: str, query: str, genome: Genome, number: int) -> Requests:
    first = _schema(language, genome, number, is_later=False)
    before = (("POST", f"/subjects/{_subject(number)}/versions", first),)
    return before, ("GET", f"/subjects/{_subject(number)}/versions/1?{query}", None)


def _tagged(language: str, genome: Genome, number: int) -> Requests:
    """A version with tags by path, and with a rule for each of them."""
    paths = {"**." * (genome["stars"] % 20) + f"*f{at}*a": ["PII"] for at in range(genome["lists"] // 5)}
    more = {"metadata": {"tags": paths}, "ruleSet": rule_set(genome)}
    body = _schema(language, genome, number, is_later=False, **more)
    return (), ("POST", f"/subjects/{_subject(number)}/versions", body)


def _diff_of_contracts(language: str, genome: Genome, number: int) -> Requests:
    before = [
        _publication(genome, number, version, _schema(language, genome, number, is_later=is_later))
        for version, is_later in (("1.0.0", False), ("2.0.0", True))
    ]
    return before, ("GET", f"{C}/contracts/{_subject(number)}/versions/2.0.0/diff?from=1.0.0", None)


def _published(language: str, genome: Genome, number: int) -> Requests:
    schema = _schema(language, genome, number, is_later=False)
    return (), _publication(genome, number, "1.0.0", schema)


def _publication(genome: Genome, number: int, version: str, schema: dict[str, Any]) -> Asked:
    document = json.loads(contract_text(genome))
    document |= {"id": _subject(number), "version": version}
    document["schema"] = [
        {
            **each,
            "physicalName": f"{_subject(number)}.{at}",
            "authoritativeDefinitions": [{"type": "schema", "url": "./schema"}],
        }
        for at, each in enumerate(document["schema"])
    ]
    contract = {"content": json.dumps(document), "schemas": {"./schema": schema}}
    body = {"application": _subject(number), "version": version, "contracts": [contract]}
    return "POST", f"{C}/publish", body


def _checked(language: str, genome: Genome, number: int) -> Requests:
    """Check a change of a contract of which another application reads many paths."""
    schema = _schema(language, genome, number, is_later=False)
    reads = [f"f{at}" for at in range(genome["reads"])] + ["**"] * (genome["reads"] > 0)
    contract = {"content": expectation(*reads, name=f"ui-{number}", contract=_subject(number), major="1")}
    before = (
        _publication(genome, number, "1.0.0", schema),
        ("POST", f"{C}/publish", {"application": f"ui-{number}", "version": "1", "contracts": [contract]}),
    )
    later = _schema(language, genome, number, is_later=True)
    return before, ("POST", f"{C}/check", {"subject": f"{_subject(number)}.0-value", "schema": later})


def _bridge(language: str, genome: Genome, number: int) -> Requests:
    subject = _subject(number)
    before = (
        ("PUT", f"/config/{subject}", {"compatibility": "NONE"}),
        ("POST", f"/subjects/{subject}/versions", _schema(language, genome, number, is_later=False)),
    )
    plan = {
        "bridge": subject,
        "source": {"topic": "a", "subject": subject},
        "target": {"topic": "b", "subject": subject},
        "fields": bridge_rules(genome),
    }
    source = _schema(language, genome, number, is_later=True)
    return before, (
        "POST",
        "/bridges/v1",
        {"plan": json.dumps(plan), "owner": "dear", "sourceSchema": source, "registerSource": True},
    )


def _rules(genome: Genome, number: int) -> Requests:
    text = json.dumps({"type": "record", "name": f"R{number}", "fields": []})
    return (), ("POST", f"/subjects/{_subject(number)}/versions", {"schema": text, "ruleSet": rule_set(genome)})


def _listed(path: str, genome: Genome, number: int) -> Requests:
    """A list with long, and with many, values in its query."""
    long = "*a" * genome["lists"] + "x" * (genome["length"] * 20)
    more = "".join(f"&{name}=v{at}" for at in range(genome["lists"]) for name in ("kind", "ignore", "findTags", "key"))
    return (), ("GET", f"{path}{long[:4000]}{more[:3500]}&n={number}", None)


def _many(method: str, path: str, make: Callable[[Genome, int], Any], genome: Genome, number: int) -> Requests:
    return (), (method, path.format(n=number), make(genome, number))


def _requested(genome: Genome, number: int) -> Any:
    return {"requests": [{"resourceId": f"r{number}-{at}"} for at in range(genome["lists"])]}


def _associated(genome: Genome, number: int) -> Any:
    made = {"opType": "CREATE", "subject": _subject(number), "associationType": "value", "lifecycle": "WEAK"}
    one = {"resourceNamespace": "x", "resourceType": "topic", "associations": [made]}
    return {
        "requests": [
            {**one, "resourceName": f"n{number}-{at}", "resourceId": f"i{number}-{at}"} for at in range(genome["lists"])
        ]
    }


def _observed(genome: Genome, number: int) -> Any:
    paths = {"a." * genome["depth"] + f"f{at}": 1 for at in range(genome["reads"])}
    reads = [
        {"subject": f"{_subject(number)}-{at}", "messages": 9, "paths": paths} for at in range(genome["links"] + 1)
    ]
    return {"application": _subject(number), "reads": reads}


def _counted(genome: Genome, number: int) -> Any:
    return {"records": 9, "schemas": [{"schemaId": number % 1000 + at, "count": 1} for at in range(genome["lists"])]}


def _may(genome: Genome, number: int) -> Any:
    return {"groups": [f"Group:{number}-{at}" for at in range(genome["lists"])], "operation": "READ", "resource": "a"}


def _routes_of(language: str) -> Mapping[str, Route]:
    form = {"JSON": "findTags=*", "AVRO": "format=resolved", "PROTOBUF": "format=serialized"}[language]
    return {
        f"test-{language}": partial(_judged, language, "STRICT"),
        f"test-sound-{language}": partial(_judged, language, "SOUND"),
        f"registration-{language}": partial(_registered, language),
        f"look-up-{language}": partial(_looked_up, language),
        f"form-{language}": partial(_printed, language, form),
        f"tags-{language}": partial(_tagged, language),
        f"publication-{language}": partial(_published, language),
        f"contract-diff-{language}": partial(_diff_of_contracts, language),
        f"contract-check-{language}": partial(_checked, language),
        f"bridge-{language}": partial(_bridge, language),
    }


_LISTS: Final = {
    "subjects": "/subjects?subjectPrefix=",
    "contexts": "/contexts?contextPrefix=",
    "schemas": "/schemas?subjectPrefix=",
    "changes": "/changes?subjectPrefix=",
    "keks": "/dek-registry/v1/keks?subjectPrefix=",
    "bridges": "/bridges/v1?subject=",
    "verdict": f"{C}/can-i-deploy?application=a&version=1&environment=",
    "matrix": f"{C}/matrix?subject=",
    "metadata": "/subjects/dear/metadata?key=",
}

ROUTES: Final[Mapping[str, Route]] = {
    **{name: route for language in TEXTS for name, route in _routes_of(language).items()},
    "rule-set": _rules,
    **{f"list-{name}": partial(_listed, path) for name, path in _LISTS.items()},
    "associations-get": partial(_many, "POST", "/associations:batchGet", _requested),
    "associations": partial(_many, "POST", "/associations:batchMutate", _associated),
    "usage": partial(_many, "POST", f"{C}/usage", _observed),
    "statistics": partial(_many, "POST", f"{C}/topics/dear-{{n}}/stats", _counted),
    "can": partial(_many, "POST", "/auth/v1/can", _may),
}
"""The kinds of requests by name."""
