"""The checks of a contract's topic: from its promises, and from the expectations of consumers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.testing import (
    LIMITS,
    UNDECODABLE,
    UNREADABLE,
    UNWRITABLE,
    CelCheck,
    Check,
    FreshnessCheck,
    HeaderCheck,
    KeyCheck,
    Metric,
    NotListed,
    QualityCheck,
    ValueCheck,
    hidden_paths,
    is_hidden,
)
from counterfoil.contracts.values.constraints import Constraint, Matching, OneOfValues, Required, Within, constraints_of
from counterfoil.schema.agreements import (
    Contract,
    EnumPolicy,
    ExpectedRead,
    FieldPromise,
    Promise,
    QualityRule,
    ServiceLevel,
)
from counterfoil.schema.datum import Json
from counterfoil.schema.paths import FieldPath, InvalidPath, StepKind, member, parse_path, print_path
from counterfoil.schema.patterns.matching import mistake_in_pattern
from counterfoil.schema.reports import Severity
from counterfoil.schema.sampling import read_duration_ms
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.contracts.check.agreements import DeclaredConsumer


_CEL: Final = "cel"
_WINDOW: Final = "window"
_SEVERITIES: Final = {"info": Severity.NOTICE, "warning": Severity.WARNING}
_UNIT_MS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A rule of a contract that this command does not evaluate, and why."""

    name: str
    reason: str
    file: str
    position: Position | None


@dataclass(frozen=True, slots=True)
class TopicTest:
    """The checks of the records of a topic. The first three checks are about whole records.

    ``hidden`` are the paths whose values are never shown. ``unchecked`` are rules that are not evaluated.
    """

    contract: str
    version: str
    file: str
    topic: str
    subject: str
    position: Position | None = None
    checks: tuple[Check, ...] = ()
    hidden: tuple[FieldPath, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()


def topic_test(
    contract: Contract, promise: Promise, *, file: str, consumers: Iterable[DeclaredConsumer] = (), window_ms: int = 0
) -> TopicTest:
    """Return the checks of the records of one topic of the contract in ``file``.

    ``window_ms`` is the length of the windows of rules with a metric that name none; 0: they are about all records.
    """
    compiler = _Compiler(file, contract, promise, window_ms=window_ms)
    compiler.add_promise()
    for consumer in consumers:
        for read in consumer.expectation.reads or ():
            compiler.add_read(read, consumer)
    return TopicTest(
        contract.id,
        contract.version,
        file,
        promise.topic,
        promise.subject,
        promise.position,
        tuple(compiler.checks),
        compiler.hidden,
        tuple(compiler.unchecked),
    )


def severity_of(rule: QualityRule) -> Severity:
    """Return the severity of a finding about a quality rule: that of the rule, an error by default."""
    return _SEVERITIES.get((rule.severity or "").casefold(), Severity.ERROR)


class _Compiler:
    def __init__(self, file: str, contract: Contract, promise: Promise, *, window_ms: int = 0) -> None:
        self._window_ms = window_ms
        self._file = file
        self._contract = contract
        self._promise = promise
        self.hidden = hidden_paths(promise.fields)
        self.checks: list[Check] = [
            Check(rule, text, file, position=promise.position)
            for rule, text in (
                (UNDECODABLE, "the record cannot be decoded with the schema that it names"),
                (UNREADABLE, "the record cannot be read with the proposed schema"),
                (UNWRITABLE, "the value cannot be written with the proposed schema"),
            )
        ]
        self.unchecked: list[Unchecked] = []

    def add_promise(self) -> None:
        """Add the promises of the contract itself."""
        for each in self._promise.fields:
            self._add_field(each)
        for header in self._promise.headers:
            if header.is_required:
                self._add_header(header.name, "header-missing", Required(), f"the header {header.name} is missing")
            if header.pattern is not None:
                text = f"the header {header.name} does not match {header.pattern}"
                matching = Matching(header.pattern)
                self._add_header(header.name, matching.rule, matching, text)
        self._add_key()
        for rule in self._promise.quality:
            self._add_quality(rule)
        for level in self._contract.service_levels:
            self._add_level(level)

    def add_read(self, read: ExpectedRead, consumer: DeclaredConsumer) -> None:
        """Add the expectations of a consumer about a field."""
        if read.path and read.path[0].kind in (StepKind.KEY, StepKind.HEADER):
            return
        for each in constraints_of(read):
            self._add_value(
                read.path, each, Severity.ERROR, read.position, file=consumer.path, who=f", as {consumer.name} expects"
            )

    def _add_field(self, promised: FieldPromise) -> None:
        for each in constraints_of(promised):
            is_open = isinstance(each, OneOfValues) and promised.enum_policy is EnumPolicy.OPEN
            self._add_value(promised.path, each, Severity.WARNING if is_open else Severity.ERROR, promised.position)
        if promised.is_unique:
            self._add_unique(promised)

    def _add_unique(self, promised: FieldPromise) -> None:
        self.checks.append(
            QualityCheck(
                "value-repeated",
                f"{print_path(promised.path)} is repeated, and is promised to be unique",
                self._file,
                print_path(promised.path),
                position=promised.position,
                is_hidden=is_hidden(promised.path, self.hidden),
                metric=Metric.DUPLICATE,
                paths=(promised.path,),
                limits=(("mustBe", 0),),
            )
        )

    def _add_value(
        self,
        path: FieldPath,
        constraint: Constraint,
        severity: Severity,
        position: Position,
        *,
        file: str | None = None,
        who: str = "",
    ) -> None:
        element = print_path(path)
        self.checks.append(
            ValueCheck(
                constraint.rule,
                f"{_sentence(element, constraint)}{who}",
                file or self._file,
                element,
                severity,
                position,
                is_hidden(path, self.hidden),
                path,
                constraint,
            )
        )

    def _add_header(self, name: str, rule: str, constraint: Constraint, text: str) -> None:
        self.checks.append(
            HeaderCheck(
                rule,
                text,
                self._file,
                f"$header.{name}",
                position=self._promise.places.get("headers", self._promise.position),
                name=name,
                constraint=constraint,
            )
        )

    def _add_key(self) -> None:
        key = self._promise.key
        if key is None or key.field is None:
            return
        position = self._promise.places.get("messageKey", self._promise.position)
        try:
            path = parse_path(key.field)
        except InvalidPath as mistake:
            self.unchecked.append(Unchecked("messageKey", str(mistake), self._file, position))
            return
        text = f"the key is not equal to {key.field}"
        hidden = is_hidden(path, self.hidden)
        self.checks.append(
            KeyCheck("key-differs", text, self._file, "$key", position=position, is_hidden=hidden, path=path)
        )

    # --- quality ------------------------------------------------------------------------------------------------------

    def _add_quality(self, rule: QualityRule) -> None:
        name = rule.id or rule.metric or rule.engine or rule.type
        severity = severity_of(rule)
        if rule.type == "text":
            return
        if rule.engine == _CEL and rule.implementation is not None:
            text = f"the rule {rule.id or rule.implementation.strip()} does not hold"
            element = rule.id or print_path(rule.path)
            self.checks.append(
                CelCheck("rule-failed", text, self._file, element, severity, rule.position, source=rule.implementation)
            )
            return
        try:
            self.checks.append(self._metric(rule, name, severity))
        except ValueError as refusal:
            self.unchecked.append(Unchecked(str(name), str(refusal), self._file, rule.position))

    def _metric(self, rule: QualityRule, name: str, severity: Severity) -> QualityCheck:
        """Return the check of a rule with a metric; raise ``ValueError`` for one that cannot be evaluated."""
        if rule.metric is None:
            raise ValueError(f"rules of the type {rule.type} with the engine {rule.engine} are not evaluated here")
        try:
            metric = Metric(rule.metric)
        except ValueError:
            raise ValueError(f"there is no metric {rule.metric}; there are {', '.join(Metric)}") from None
        limits = tuple((key, limit) for key, limit in sorted(rule.limits.items()) if key in LIMITS)
        if not limits:
            raise ValueError("it has no limit such as mustBeLessThan")
        paths = _paths_of(rule)
        if not paths and metric is not Metric.ROWS:
            raise ValueError("it names no field; give the argument properties, or write it at a field")
        window = rule.arguments.get(_WINDOW)
        return QualityCheck(
            "quality-failed",
            f"the rule {name}",
            self._file,
            rule.id or ", ".join(print_path(each) for each in paths) or metric.value,
            severity,
            rule.position,
            any(is_hidden(each, self.hidden) for each in paths),
            metric,
            paths,
            self._window_ms if window is None else read_duration_ms(str(window)),
            limits,
            rule.is_percent,
            _counted(metric, rule.arguments),
        )

    def _add_level(self, level: ServiceLevel) -> None:
        if level.property.casefold() != "freshness":
            return
        for element in (level.element or self._promise.name).split(","):
            name, _, field = element.strip().partition(".")
            if name not in (self._promise.name, self._promise.topic):
                continue
            unit = _UNIT_MS.get((level.unit or "d").casefold())
            if unit is None or isinstance(level.value, bool) or not isinstance(level.value, int | float):
                reason = f"{level.value} {level.unit} is no length of time; units are s, m, h and d, or their names"
                self.unchecked.append(Unchecked("freshness", reason, self._file, level.position))
                continue
            text = f"the newest record must not be older than {level.value} {level.unit or 'd'}"
            path = tuple(map(member, field.split("."))) if field else ()
            self.checks.append(
                FreshnessCheck(
                    "sla-missed",
                    text,
                    self._file,
                    element.strip(),
                    position=level.position,
                    path=path,
                    age_ms=int(level.value * unit),
                )
            )


def _sentence(element: str, constraint: Constraint) -> str:
    match constraint:
        case Required():
            return f"{element} is missing"
        case Within(range=limits):
            return f"{element} is not {limits}"
        case OneOfValues(values=values):
            shown = ", ".join(sorted(map(str, values)))
            return f"{element} is none of {shown}"
        case Matching(pattern=pattern):
            return f"{element} does not match {pattern}"


def _paths_of(rule: QualityRule) -> tuple[FieldPath, ...]:
    """Return the fields of a rule: those it names, from the field where it is written, else that field."""
    named: Json = rule.arguments.get("properties", rule.arguments.get("property"))
    names: Sequence[Json] = [named] if isinstance(named, str) else named if isinstance(named, list) else ()
    if not names:
        return (rule.path,) if rule.path else ()
    try:
        return tuple((*rule.path, *parse_path(str(each))) for each in names)
    except InvalidPath as mistake:
        raise ValueError(str(mistake)) from None


def _counted(metric: Metric, arguments: Json) -> Json:
    """Return what a value fits that a metric does not count."""
    if metric is Metric.NULL:
        return Required()
    if metric is Metric.MISSING:
        values = arguments.get("missingValues")
        return NotListed((None, *(values if isinstance(values, list) else ("",))))
    if metric is Metric.INVALID:
        values, pattern = arguments.get("validValues"), arguments.get("pattern")
        if isinstance(values, list):
            return OneOfValues(
                frozenset(map(str, values)) | frozenset(each for each in values if not isinstance(each, str))
            )
        if pattern is None:
            raise ValueError("it names neither validValues nor a pattern")
        mistake = mistake_in_pattern(str(pattern))
        if mistake is not None:
            raise ValueError(f"its pattern is no regular expression: {mistake}")
        return Matching(str(pattern))
    return None
