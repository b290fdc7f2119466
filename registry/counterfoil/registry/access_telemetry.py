"""The measures of a server that demands credentials, in the classes of Prometheus' library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from counterfoil.registry.domain.access.measures import MEMBER, AccessState, IssuerState
from counterfoil.registry.domain.access.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client.core import Metric

    from counterfoil.registry.domain.access.measures import AccessCounts


def access_families(counts: AccessCounts, states: Sequence[AccessState]) -> Iterator[Metric]:
    """Yield the measures of a server that demands credentials; no label is the name of a caller or a subject."""
    attempts = CounterMetricFamily(
        "counterfoil_auth",
        "Requests whose sender was to be found out, by method and outcome.",
        labels=["method", "outcome"],
    )
    for (method, outcome), count in sorted(counts.by_outcome.items()):
        attempts.add_metric([method, outcome], count)
    yield attempts
    cache = CounterMetricFamily(
        "counterfoil_auth_cache", "Requests with credentials, by whether these were remembered.", labels=["hit"]
    )
    cache.add_metric(["true"], sum(counts.recalled.values()))
    cache.add_metric(["false"], counts.examined_headers)
    yield cache
    denied = CounterMetricFamily(
        "counterfoil_denied", "Requests, or items of requests, that were denied, by operation.", labels=["operation"]
    )
    for operation in [*(each.value for each in Operation), MEMBER]:
        denied.add_metric([operation], counts.denials[operation])
    yield denied
    passwords = HistogramMetricFamily("counterfoil_password_seconds", "Time that the examination of a password took.")
    passwords.add_metric([], buckets=counts.passwords.cumulated(), sum_value=counts.passwords.sum_s)
    yield passwords
    yield from _issuer_families(states)
    files = [each.is_file_valid for each in states if each.is_file_valid is not None]
    if files:
        yield GaugeMetricFamily(
            "counterfoil_auth_file_valid",
            "1 if the access file is the one in force, 0 while it has a mistake, and an earlier content is.",
            int(all(files)),
        )
    rules = GaugeMetricFamily("counterfoil_rules_info", "Always 1; a digest of the rules in force.", labels=["hash"])
    for digest in sorted({each.rules for each in states}):
        rules.add_metric([digest], 1)
    yield rules


def _issuer_families(states: Sequence[AccessState]) -> Iterator[Metric]:
    """Yield the oldest keys of each issuer in any process, and how often fetching them has failed in all."""
    age = GaugeMetricFamily(
        "counterfoil_jwks_age_seconds", "Time since an issuer's keys were fetched.", labels=["issuer"]
    )
    failures = CounterMetricFamily(
        "counterfoil_jwks_failures", "Failed fetches of an issuer's keys.", labels=["issuer"]
    )
    by_name: dict[str, list[IssuerState]] = {}
    for each in [issuer for state in states for issuer in state.issuers]:
        by_name.setdefault(each.name, []).append(each)
    for name, found in by_name.items():
        ages = [each.age_s for each in found if each.age_s is not None]
        if ages:
            age.add_metric([name], max(ages))
        failures.add_metric([name], sum(each.failures for each in found))
    yield age
    yield failures


def access_state(given: dict[str, Any]) -> AccessState:
    """Return the state of another process from its JSON."""
    issuers = tuple(IssuerState(**each) for each in given.pop("issuers"))
    return AccessState(**given, issuers=issuers)
