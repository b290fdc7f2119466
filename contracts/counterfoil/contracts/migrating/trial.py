"""The trial of a converter: records of one version of a topic are converted to the other, and judged there.

The bridge file may lead from the old version to the new one, or back. Old consumers read what is converted back to the
old version: by the file itself, or by the reverse of its plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.migrating.conditions import Conditions
from counterfoil.contracts.migrating.values import misfit_function, numbers_in, shown, unkept
from counterfoil.schema.counting import counted
from counterfoil.schema.evolution import ConversionError, derive_both_ways, derive_plan, evaluator, with_message
from counterfoil.schema.evolution.languages.table import tree_of
from counterfoil.schema.reads.cover import uncovered
from counterfoil.schema.reads.facts import SchemaFacts
from counterfoil.schema.reads.generation import generated
from counterfoil.schema.reads.json_base import NoValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterfoil.schema.agreements.model import Promise, Read
    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.evolution import ConversionPlan
    from counterfoil.schema.evolution.tree import Node
    from counterfoil.schema.parsed import ParsedSchema

GENERATED: Final = 100
"""How many records are generated for a trial."""
_TRIES: Final = 20
_FEWEST: Final = 2
"""How many fields a sentence names, those with the fewest distinct values."""
_FILLED: Final = frozenset({"default", "null"})


@dataclass(frozen=True, slots=True)
class Side:
    """A topic in one version of its contract."""

    version: str
    schema: ParsedSchema
    promise: Promise


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried. ``is_back``: the bridge file leads from the new version to the old one.

    ``reads`` are the paths that old consumers read, by the name of each; None is the whole record. ``recorded`` are
    base values of the version from which the file leads.
    """

    file: BridgeFile
    old: Side
    new: Side
    is_back: bool
    reads: Mapping[str, Sequence[Read] | None] = field(default_factory=dict)
    recorded: Sequence[Any] = ()

    @property
    def source(self) -> Side:
        """The version from which the file leads."""
        return self.new if self.is_back else self.old

    @property
    def target(self) -> Side:
        """The version to which the file leads."""
        return self.old if self.is_back else self.new


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a converter does not do: a sentence, and the record of the source that shows it, as JSON, if one does."""

    text: str
    record: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result: how many records were converted, what failed first, and what is not carried, as sentences.

    ``numbers`` is how many distinct values were tried of each field that is a number, by its path.
    """

    converted: int = 0
    failure: Failure | None = None
    lossy: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def variety(self) -> str:
        """How many distinct numbers were tried, as words: of the two fields with the fewest; empty without numbers."""
        fewest = sorted(self.numbers.items(), key=lambda each: each[1])[:_FEWEST]
        listed = [f"{counted(count, 'distinct value')} of {path}" for path, count in fewest]
        least = "at least " if len(self.numbers) > _FEWEST else ""
        return f"with {least}{' and '.join(listed)}" if listed else ""


def try_converter(trial: Trial, count: int = GENERATED) -> Outcome:
    """Convert all recorded and ``count`` generated records, and return the first failure, if there is one."""
    source = with_message(trial.source.schema, trial.file.source_message)
    target = with_message(trial.target.schema, trial.file.target_message)
    problems = trial.file.language_problems(source.schema_type, target.schema_type)
    plan = derive_plan(source, target, trial.file.rules)
    problems = (*problems, *map(str, plan.problems))
    lossy = tuple(_lossy(plan))
    if problems:
        return Outcome(0, Failure(f"the converter is not complete: {'; '.join(problems)}"), lossy)
    if not trial.is_back and trial.reads:
        both = derive_both_ways(source, target, trial.file.rules)
        if both.back.problems:
            missing = "; ".join(f"{each}" for each in both.losses)
            text = f"consumers of version {trial.old.version} need the way back, and it has gaps: {missing}"
            return Outcome(0, Failure(f"{text}; give each field an explicit default"), lossy)
        lossy = (*lossy, *map(str, both.losses), *(f"on the way back, {each}" for each in _filled(both.back)))
        return _Run(trial, source, plan, both.back).outcome(count, lossy)
    return _Run(trial, source, plan, None).outcome(count, lossy)


def _lossy(plan: ConversionPlan) -> Iterator[str]:
    """Yield what is not carried as it was."""
    yield from (f"{each} is dropped" for each in plan.dropped)
    yield from (f"{each} does not keep every value" for each in plan.lossy)
    yield from _filled(plan)


def _filled(plan: ConversionPlan) -> Iterator[str]:
    """Yield the fields that no source field fills."""
    yield from (f"{row.target} is always {row.note}" for row in plan.described if row.how in _FILLED)


class _Run:
    """Converts records one after another."""

    def __init__(self, trial: Trial, source: ParsedSchema, plan: ConversionPlan, back: ConversionPlan | None) -> None:
        self._trial = trial
        self._source = source
        self._source_tree, self._target_tree = tree_of(plan.source), tree_of(plan.target)
        self._convert = evaluator(plan)
        self._back: Callable[[Any], Any] | None = None if back is None else evaluator(back)
        self._misfit = misfit_function(trial.target.schema)
        self._source_conditions = Conditions(trial.source.promise, self._source_tree)
        self._target_conditions = Conditions(trial.target.promise, self._target_tree)
        facts, promise = SchemaFacts(trial.old.schema), trial.old.promise
        self._reads = {
            name: None if reads is None else [each for each in reads if _is_backed(each, promise, facts)]
            for name, reads in trial.reads.items()
        }

    def outcome(self, count: int, lossy: tuple[str, ...]) -> Outcome:
        done = 0
        numbers: dict[str, set[Any]] = {}
        try:
            for value in chain(self._trial.recorded, self._generated(count)):
                if (text := self._failure(value)) is not None:
                    return Outcome(done, Failure(text, shown(self._source, value)), lossy)
                done += 1
                for path, number in numbers_in(self._source_tree, value):
                    numbers.setdefault(path, set()).add(number)
        except NoValues as problem:
            if not self._trial.recorded:
                return Outcome(done, Failure(f"no record could be generated: {problem}; give recorded ones"), lossy)
        if not done:
            text = "no record was found that keeps the promises of the contract; give recorded ones"
            return Outcome(0, Failure(text), lossy)
        return Outcome(done, None, lossy, {path: len(found) for path, found in numbers.items()})

    def _generated(self, count: int) -> Iterator[Any]:
        """Yield generated records that keep what the contract promises of them."""
        fields = self._trial.source.promise.fields
        made = generated(self._source, count * _TRIES, self._trial.source.promise.field)
        kept = (each for each in made if next(unkept(self._source_tree, each, fields), None) is None)
        return islice((each for each in kept if next(self._source_conditions.broken(each), None) is None), count)

    def _failure(self, value: Any) -> str | None:
        """Return why a record does not pass; None if it does."""
        target = self._trial.target
        try:
            converted = self._convert(value)
        except ConversionError as error:
            return f"it cannot be converted: {error}"
        if misfit := self._misfit(converted):
            return f"converted, it is no record of version {target.version}: {misfit}"
        of_fields = unkept(self._target_tree, converted, target.promise.fields)
        broken = next(chain(of_fields, self._target_conditions.broken(converted)), None)
        if broken is not None:
            return f"converted, it breaks a promise of version {target.version}: {broken}"
        if self._trial.is_back:
            return self._unread(self._target_tree, converted)
        return self._unread_after_the_way_back(converted)

    def _unread(self, tree: Node, value: Any) -> str | None:
        """Return which old consumer does not find what it expects in a record of the old version."""
        for name, reads in self._reads.items():
            problem = next(unkept(tree, value, reads or ()), None)
            if problem is not None:
                return f"{name} cannot read the converted record: {problem}"
        return None

    def _unread_after_the_way_back(self, converted: Any) -> str | None:
        if self._back is None:
            return None
        try:
            returned = self._back(converted)
        except ConversionError as error:
            return f"it cannot be converted back to version {self._trial.old.version}: {error}"
        return self._unread(self._source_tree, returned)


def _is_backed(read: Read, promise: Promise, facts: SchemaFacts) -> bool:
    """Return whether the old version kept what a consumer expects; what it never kept, a converter need not."""
    found = facts.at(read.path)
    return found is not None and not any(uncovered(read, promise.field(read.path), found))
