"""The values of a JSON schema as rules see them, and their encryption where a text decides what describes a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final, NamedTuple

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.marks import (
    ABOUT_EVERY_TEXT,
    DescribedValue,
    JsonMarks,
    inside,
    places,
    written,
)
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.marks import ROOT, FieldTags, Mark
from counterfoil.schema.tags import UnnamedPath, unnamed_paths
from counterfoil.sdk.errors import EncryptionError
from counterfoil.sdk.serde.json.coders import compile_encoder
from counterfoil.sdk.serde.json.layers import ConfluentReader, LayeredText, SealedPlace, as_written, replaced, settle
from counterfoil.sdk.serde.json.rule_walk import (
    ChoiceOf,
    DecidedText,
    Deciding,
    Everything,
    RuleFields,
    RuleWalk,
    decided,
    decider,
    typed,
)
from counterfoil.sdk.serde.json.schemas import Fitting
from counterfoil.sdk.serde.json.text import read_exactly
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, FieldType, OpenedText, SchemaField, Transform
from counterfoil.sdk.serde.rules.values import Aim, CheckedValue, Hiding, MessageBeforeRules, read_inline_rules

# Encryption and decryption of JSON values whose schema says by a text which of its parts describe a value.
#
# A ciphertext may fit another branch than the text that was encrypted. Writing decides by the texts of the program;
# reading decrypts first what any branch marks, and then decides by the decrypted texts which values had to be
# encrypted. Of several rules, each decides by the texts as they were before any of them encrypted.

_ALWAYS: Final = ("if", "contains", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems")
_UNFIT: Final = "under a branch that a ciphertext does not fit, in"
_OTHER_SCALARS: Final = ("null", "integer", "number", "boolean")


def is_decided_by_texts(root: ConstrainedSchema) -> bool:
    """Return whether a text in a value may decide which parts of a schema describe the value, or how many of them."""
    waiting, seen = [root], {root}
    while waiting:
        each = waiting.pop()
        if _is_choice(each):
            return True
        more = [one for one in inside(each) if one not in seen]
        seen.update(more)
        waiting += more
    return False


def _is_choice(schema: ConstrainedSchema) -> bool:
    keywords = written(schema)
    if any(word in keywords for word in _ALWAYS):
        return True
    types = keywords.get("type")
    if isinstance(types, list) and len(types) > 1 and not keywords.keys() <= ABOUT_EVERY_TEXT:
        return True
    lists = [keywords[word] for word in ("allOf", "anyOf", "oneOf") if isinstance(keywords.get(word), list)]
    if len(lists) > 1:
        return True
    branches = lists[0] if lists else []
    others = [each for each in branches if not _is_other_scalar(each)]
    if len(others) > 1:
        return True
    return bool(others) and "allOf" not in keywords and not _is_any_text(others[0])


def _is_other_scalar(branch: object) -> bool:
    return isinstance(branch, dict) and branch.get("type") in _OTHER_SCALARS and "$ref" not in branch


def _is_any_text(branch: object) -> bool:
    return isinstance(branch, dict) and branch.get("type") == "string" and branch.keys() <= ABOUT_EVERY_TEXT


class Encryption:
    """Encrypts the marked texts of values, each as often as readers of Confluent's decrypt it.

    A text that they cannot decrypt counts as one at a place where they do not look.
    """

    def __init__(self, fields: RuleFields, root: WrittenSchema, dump: Callable[[Json], Json]) -> None:
        self._fields = fields
        self._root = root
        self._dump = dump

    def __call__(self, message: object) -> Json:
        """Return an encrypted copy of a message."""
        return self.after(message, MessageBeforeRules(message))

    def after(self, message: object, before: MessageBeforeRules) -> Json:
        """Return an encrypted copy of a message; its branches are those of the message before other rules ran.

        What the message marks that the stage received is encrypted, and what it marks after the rules that changed it,
        but before those that encrypted.
        """
        fields = self._fields
        is_first = message is before.message
        walk = _Sealing(fields, Fitting() if is_first else Deciding(0, 1), self._dump)
        value = message if is_first else self._decided(message, before)
        sealed = walk.changed([(self._root, fields.marks.at_root(self._root))], value, None)
        if not is_first:
            sealed = replaced(sealed, lambda text: text if isinstance(text, LayeredText) else str(text), str)
        reader = ConfluentReader(self._root, fields.marks.tags, fields.tags)
        for place in settle(sealed, walk.found, reader):
            if place.mark is not None:
                walk.refuse_beyond(place.mark)
        for place in walk.found:
            plain = str(place.text(0))
            before.plain[str(place.text(place.count))] = before.plain.get(plain, plain)
        return as_written(sealed) if walk.found else sealed

    def _decided(self, message: Json, before: MessageBeforeRules) -> Json:
        def plain_text(text: str) -> str:
            return before.plain.get(text, text)

        plain = replaced(message, plain_text, str)
        return decided(message, (plain, before.message), self._dump)


class _Sealing(RuleWalk):
    """The walk that encrypts each marked text once; ``found`` are their places."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.found: list[SealedPlace] = []

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return a scalar; a text that is encrypted knows its place."""
        known: list[tuple[Mark, Change]] = []
        beyond: list[Change] = []
        for each in described:
            mark, field_type = typed(each, value)
            change = self.rule_fields.of(mark, field_type)
            if change is not None and mark.is_reached(self.rule_fields.tags):
                known.append((mark, change))
            elif change is not None:
                beyond.append(change)
        first, change = known[0] if known else (None, beyond[0] if beyond else None)
        if change is None:
            return value
        if not isinstance(value, str):
            return change(value, message)
        run: Change = change
        place = SealedPlace(value, lambda text: str(run(text, message)), first)
        self.found.append(place)
        return place.text(1)

    def refuse_beyond(self, mark: Mark) -> None:
        """Raise the rule's error for a text where Confluent's clients do not look, if it refuses that."""
        change = self.rule_fields.of(mark.beyond(), FieldType.STRING, where=_UNFIT)
        if change is not None:
            change("", None)


class Decryption:
    """Decrypts the texts of values that any part of a schema marks.

    ``fields_of_all`` are the fields of all rules that decrypt messages of the schema, in the order in which they run;
    rules are added to it after this one was made.
    """

    def __init__(
        self,
        fields: RuleFields,
        root: WrittenSchema,
        dump: Callable[[Json], Json],
        fields_of_all: list[RuleFields],
    ) -> None:
        self._fields = fields
        self._root = root
        self._dump = dump
        self._fields_of_all = fields_of_all

    def __call__(self, message: object) -> Json:
        """Return a decrypted copy of a message; raise the rule's error for a text that had to be encrypted."""
        return self.after(message, MessageBeforeRules(message))

    def after(self, message: object, before: MessageBeforeRules) -> Json:
        """Return a decrypted copy of a message that other rules have decrypted in part, or will.

        Which texts had to be encrypted is decided by the message that all rules together decrypt. A text that only it
        marks is one of a place that Confluent's clients do not reach: they decide by what is decrypted so far.
        """
        opened = self._opened(self._fields, message)
        described = [(self._root, self._fields.marks.at_root(self._root))]
        is_alone = self._fields_of_all in ([], [self._fields])
        if is_alone and message is before.message:
            checked = _Checking(self._fields, Fitting(), self._dump).changed(described, opened, None)
            return replaced(checked, str, OpenedText)
        if before.decrypted is None:
            before.decrypted = self._decrypted(before.message)
        value = decided(opened, (before.decrypted, opened), self._dump)
        noting = _Noting(self._fields, Deciding(1), self._dump)
        noting.changed(described, value, None)
        checking = _CheckingLast(self._fields, Deciding(0), self._dump)
        checking.known = noting.found
        return replaced(checking.changed(described, value, None), str, str)

    def _opened(self, fields: RuleFields, message: object) -> Json:
        described = [(self._root, fields.marks.at_root(self._root))]
        return _Opening(fields, Everything(), self._dump).changed(described, message, None)

    def _decrypted(self, message: object) -> Json:
        """Return a message that all rules have decrypted; a text that none can decrypt stays as it is."""
        for fields in self._fields_of_all:
            try:
                message = self._opened(fields, message)
            except EncryptionError:
                continue  # the rule itself will fail, and act as its schema says
        return message


class _Opening(RuleWalk):
    """The walk that decrypts every text that may be marked and is a ciphertext."""

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return the decrypted text."""
        if not isinstance(value, str):
            return value
        for each in described:
            change = self.rule_fields.of(each.mark, FieldType.STRING, is_possible=True)
            value = value if change is None or isinstance(value, OpenedText) else change(value, message)
        return value


class _Checking(RuleWalk):
    """The walk that applies the rule to marked texts that are not decrypted yet: there should be none."""

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return a scalar."""
        return value if isinstance(value, OpenedText) else super().scalar(described, value, message)


class _Noting(RuleWalk):
    """The walk that changes nothing, and notes the texts that the rule would change; ``found`` are their ids."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.found: set[int] = set()

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return the scalar as it is."""
        del message
        for each in described:
            mark, field_type = typed(each, value)
            if isinstance(value, DecidedText) and self.rule_fields.of(mark, field_type) is not None:
                self.found.add(id(value))
        return value


class _CheckingLast(RuleWalk):
    """The walk that applies the rule to marked texts that no rule decrypts: there should be none.

    ``known`` are the ids of the texts that are marked as well if ciphertexts of other rules decide.
    """

    known: AbstractSet[int] = frozenset()

    def scalar(self, described: Sequence[DescribedValue], value: object, message: object) -> Json:
        """Return a scalar."""
        if not isinstance(value, DecidedText):
            return super().scalar(described, value, message)
        last, now = decider(value, 0), decider(value, 1)
        if isinstance(now, OpenedText) or (isinstance(last, OpenedText) and str(last) == str(value)):
            return value
        if id(value) not in self.known:
            described = [replace(each, mark=each.mark.beyond()) for each in described]
        return super().scalar(described, str(value), message)


# The values of a JSON schema as rules see them: dicts, lists, texts and numbers.
#
# A property is described by every schema that certainly applies to it, through references, ``allOf``, and the branches
# of ``anyOf`` and ``oneOf`` that the value fits. The full name of a field is its path from the root, ``$.lines.price``;
# the items of an array have the name of the array.

_RULES: Final = "confluent:rules"


class JsonRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of a JSON schema.

    ``dump`` turns a value of the program into values of JSON; it is not called for those that are. ``load`` validates
    values of JSON, and turns them into values of the program. ``fill`` adds the defaults of the schema to a migrated
    value, in place. ``validates_writing``: a value that rules have changed is validated before it is written.
    """

    def __init__(
        self,
        parsed: JsonSchema,
        tags: FieldTags,
        *,
        dump: Callable[[Json], Json],
        load: Callable[[Json], Json],
        fill: Callable[[Json], None] | None,
        validates_writing: bool = True,
    ) -> None:
        self._parsed = parsed
        self._validates_writing = validates_writing
        self._root = root_of(parsed)
        self._tags = tags
        self._marks = JsonMarks(tags)
        self._dump = dump
        self._fill = fill
        self.closed = load
        self._encode = compile_encoder(None)
        self._decrypting: list[RuleFields] = []

    def opened(self, value: object, /) -> Json:
        """Return the value as dicts, lists and scalars."""
        return value if isinstance(value, (dict, list, str, int, float)) else self._dump(value)

    def encoded(self, message: object, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._encode(message, b"")

    def fields(
        self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), aim: Aim = Aim.CHANGE
    ) -> Transform:
        """Return a function that applies a field rule to a message; the encoder writes no defaults."""
        fields = RuleFields(changes, self._marks, self._root, tags)
        if aim is not Aim.CHANGE and is_decided_by_texts(self._root):
            if aim is Aim.ENCRYPT:
                return Encryption(fields, self._root, self._dump)
            self._decrypting.append(fields)
            return Decryption(fields, self._root, self._dump, self._decrypting)
        root, mark = self._root, self._marks.at_root(self._root)
        return lambda message: RuleWalk(fields, Fitting(), self._dump).changed([(root, mark)], message, None)

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole schema."""
        for each in places(self._parsed, self._tags):
            is_key = each.type == "KEY"
            field_type = FieldType.STRING if is_key else FieldType[each.type]
            field = SchemaField.marked(each.mark, field_type, each.where, is_key=is_key)
            yield replace(field, may_be=each.may_be) if self._validates_writing and each.may_be else field

    def unnamed_paths(self) -> list[UnnamedPath]:
        """Return the paths of the metadata that assign their tags to nothing."""
        return unnamed_paths(self._tags.by_path, lambda tags: places(self._parsed, tags))

    def redacted(self, message: object, hiding: Hiding, /) -> Json:
        """Return a copy of a value without its hidden parts; tags of all branches count, whichever it fits."""
        if hiding.tags is None:
            return hiding.whole(self.opened(message))
        fields = RuleFields(hiding.changes, self._marks, self._root, hiding.tags, hiding=hiding)
        walk = RuleWalk(fields, Everything(), self._dump)
        return walk.changed([(self._root, self._marks.at_root(self._root))], self.opened(message), None)

    def inline_rules(self) -> Callable[[Json], Iterator[CheckedValue]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        root = self._root
        if not _mentions_rules(root):
            return None
        marks = JsonMarks(FieldTags({}, {}))
        return lambda message: _checked([(root, Mark())], message, ROOT, _Rules(marks, Fitting()))

    def to_json(self, message: object, /) -> Json:
        """Return the message itself."""
        return message

    def from_json(self, value: object, /) -> Json:
        """Return the value, with the defaults of the schema; it is validated when it becomes a value of the program."""
        if self._fill is None:
            return value
        message = read_exactly(self.encoded(value), 0)
        self._fill(message)
        return message


def _mentions_rules(root: WrittenSchema) -> bool:
    """Return whether the schema, or one that it refers to, has inline rules."""
    waiting: list[ConstrainedSchema] = [root]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if _RULES in written(each):
            return True
        waiting += inside(each)
    return False


class _Rules(NamedTuple):
    """The needs of a walk for inline rules."""

    marks: JsonMarks
    fitting: ChoiceOf


def _checked(
    described: Sequence[tuple[ConstrainedSchema, Mark]], value: object, path: str, walk: _Rules
) -> Iterator[CheckedValue]:
    """Yield the values in ``value`` that have inline rules, each rule of a property with the property's path."""
    if value is None:
        return
    choice = walk.fitting.choice(value)
    found = [walk.marks.described(schema, mark, choice) for schema, mark in described]
    schemas = list(dict.fromkeys(part.schema for each in found for part in each.parts))
    for schema in schemas:
        yield from (CheckedValue(rule, path, value) for rule in read_inline_rules(written(schema).get(_RULES)))
    if isinstance(value, dict):
        for name, inner in value.items():
            below = [one for each in found for one in walk.marks.of_property(each, name)]
            yield from _checked(below, inner, f"{path}.{name}", walk)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            below = [one for each in found for one in walk.marks.of_item(each, index, choice)]
            yield from _checked(below, item, f"{path}[{index}]", walk)
