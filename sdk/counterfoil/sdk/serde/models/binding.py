"""A model beside a schema: generated code that turns its objects into plain values, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroType
from counterfoil.sdk.errors import EncodeError, ModelError, SerdeError
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.serde import shown
from counterfoil.sdk.serde.avro.plan import TYPE_KEY, PythonSource
from counterfoil.sdk.serde.codec import Decode, Encode
from counterfoil.sdk.serde.models.avro_schema import avro_schema
from counterfoil.sdk.serde.models.describe import describe
from counterfoil.sdk.serde.models.description import (
    EnumNode,
    FieldNode,
    MapNode,
    ModelKind,
    ModelListNode,
    ModelNode,
    ModelScalarNode,
    Node,
    RootNode,
    UnionNode,
    models_in,
    nodes_of,
    only_sets_attributes,
)
from counterfoil.sdk.serde.models.making_walk import (
    MakingWalk,
    Names,
    accepts_null,
    match_records,
    moment_of,
    validator_of,
)

# What the two writers of code for models have in common: a function for each class, and for a union of several types.
#
# A method returns an expression, which evaluates the expression of its value once.


class ModelWriter(ABC):
    """Writes the function ``verb``, which converts values of one type.

    ``differs`` returns whether values of a type are converted, whatever is inside them. ``otherwise`` is the result for
    ``v``, a value of a union whose class is not in the table ``by_class``.
    """

    def __init__(
        self, verb: str, differs: Callable[[Node], bool], constants: Mapping[str, object], *, otherwise: str = "v"
    ) -> None:
        self._verb = verb
        self._differs = differs
        self._otherwise = otherwise
        self._out = PythonSource(constants)
        self._function_by_model: dict[ModelNode, str] = {}
        self._pending: list[tuple[str, ModelNode]] = []

    def compile(self, root: Node) -> Callable[[Datum], Datum]:
        """Return the function for values of a type."""
        self._write(self._verb, [f"return {self._converted(root, 'v')}"])
        while self._pending:
            name, node = self._pending.pop()
            self._write(name, self._model(node))
        function: Callable[[Datum], Datum] = self._out.run(f"{self._verb} of a model")[self._verb]
        return function

    @abstractmethod
    def _part(self, node: Node, value: str) -> str:
        """Return the converted value of a type that is no union and no model."""

    @abstractmethod
    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        """Return the class of each branch that is converted, and the converted ``v``."""

    @abstractmethod
    def _model(self, node: ModelNode) -> list[str]:
        """Return the lines of the function that converts ``v``, an object of a class."""

    def _is_changed(self, node: Node) -> bool:
        return any(map(self._differs, nodes_of(node)))

    def _converted(self, node: Node, value: str) -> str:
        if not self._is_changed(node):
            return value
        match node:
            case UnionNode(not_null=[only]):
                found = self._out.name("w")
                return f"(None if ({found} := {value}) is None else {self._converted(only, found)})"
            case UnionNode():
                return f"{self._union(node)}({value})"
            case ModelNode():
                return f"{self._name(node)}({value})"
            case _:
                return self._part(node, value)

    def _union(self, node: UnionNode) -> str:
        """Write a function for values of a union; it is complete before the function that calls it begins."""
        table, name = self._out.name("by_class"), self._out.name("union")
        entries = [f"{self._out.bind('Class', cls)}: lambda v: {result}" for cls, result in self._branches(node)]
        self._out.line(f"{table} = {{{', '.join(entries)}}}")
        otherwise = self._otherwise.replace("by_class", table)
        self._write(name, [f"f = {table}.get(v.__class__)", f"return {otherwise} if f is None else f(v)"])
        return name

    def _name(self, node: ModelNode) -> str:
        known = self._function_by_model.get(node)
        if known is None:
            known = self._function_by_model[node] = self._out.name(self._verb)
            self._pending.append((known, node))
        return known

    def _write(self, name: str, lines: list[str]) -> None:
        self._out.line(f"def {name}(v):")
        for line in lines:
            self._out.line(f" {line}")


# Objects of a program as plain values that codecs write: generated code, without ``asdict``.
#
# A model becomes a dict, an Enum its symbol, a tuple or a set a list; where a union has several models, a model becomes
# ``("full.name", dict)``. A value that is not of its declared type stays as it is, so that the codec raises the error,
# which has the path.


def compile_taking(root: Node, name_of: Callable[[ModelNode], str]) -> Callable[[Datum], Datum]:
    """Return a function that makes a plain value of an object.

    ``name_of`` returns the name of a class among several in a union. Raises ``ModelError``. The function raises
    ``EncodeError`` for an object of several classes of a union.
    """
    return _TakingWriter(name_of).compile(root)


def _is_items(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))


def _is_entries(value: object) -> bool:
    return isinstance(value, Mapping)


def _choose(take_by_class: Mapping[type, Callable[[Datum], Datum]], value: object) -> Datum:
    """Return the plain value of an object whose class is a subclass of one in a union."""
    fitting = [cls for cls in take_by_class if isinstance(value, cls)]
    closest = [cls for cls in fitting if not any(other is not cls and issubclass(other, cls) for other in fitting)]
    if len(closest) > 1:
        candidates = " and ".join(cls.__name__ for cls in closest)
        expected, got = "an object of one class of the union", f"{type(value).__name__}, which is {candidates}"
        raise EncodeError(f"The value: expected {expected}; got {got}", expected=expected, got=got)
    return take_by_class[closest[0]](value) if closest else value


def _differs_when_taken(node: Node) -> bool:
    match node:
        case EnumNode() | RootNode():
            return True
        case ModelListNode(python=python):
            return python is not list
        case UnionNode():
            return len(models_in(node)) > 1
        case ModelNode(kind=kind, fields=fields):
            return kind is not ModelKind.TYPED_DICT or any(one.name != one.attribute for one in fields)
        case _:
            return False


class _TakingWriter(ModelWriter):
    """Writes the code that makes plain values."""

    def __init__(self, name_of: Callable[[ModelNode], str]) -> None:
        constants = {"is_items": _is_items, "is_entries": _is_entries, "choose": _choose}
        super().__init__("take", _differs_when_taken, constants, otherwise="choose(by_class, v)")
        self._name_of = name_of

    def _part(self, node: Node, value: str) -> str:
        found = self._out.name("w")
        match node:
            case EnumNode(python=python, symbol_attribute=attribute):
                is_member = f"({found} := {value}).__class__ is {self._out.bind('Enum', python)}"
                return f"({found}.{attribute} if {is_member} else {found})"
            case RootNode(python=python, root=root):
                inner = self._converted(root, f"{found}.root")
                return f"({inner} if isinstance({found} := {value}, {self._out.bind('Root', python)}) else {found})"
            case ModelListNode(items=items, python=python):
                item = self._out.name("v")
                plain = f"[{self._converted(items, item)} for {item} in {found}]"
                is_list = f"({found} := {value}).__class__ is {self._out.bind('kind', python)} or is_items({found})"
                return f"({plain} if {is_list} else {found})"
            case MapNode(values=values):
                key, item = self._out.name("k"), self._out.name("v")
                plain = f"{{{key}: {self._converted(values, item)} for {key}, {item} in {found}.items()}}"
                return f"({plain} if ({found} := {value}).__class__ is dict or is_entries({found}) else {found})"
            case _:
                raise AssertionError(node)

    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        has_names = len(models_in(node)) > 1
        for branch in self._known_by_class(node):
            plain = self._converted(branch, "v")
            if has_names and isinstance(branch, ModelNode):
                plain = f"({self._name_of(branch)!r}, {plain})"
            yield _class_of(branch), plain

    def _model(self, node: ModelNode) -> list[str]:
        cls = self._out.bind("Class", _class_of(node))
        lines = self._entries(node) if node.kind is ModelKind.TYPED_DICT else self._attributes(node)
        return [f"if v.__class__ is not {cls} and not isinstance(v, {cls}): return v", *lines]

    def _attributes(self, node: ModelNode) -> list[str]:
        entries = [f"{one.name!r}: {self._converted(one.type, f'v.{one.attribute}')}" for one in node.fields]
        return [f"return {{{', '.join(entries)}}}"]

    def _entries(self, node: ModelNode) -> list[str]:
        lines = ["d = dict(v)"]
        for one in node.fields:
            if one.name != one.attribute or self._is_changed(one.type):
                plain = self._converted(one.type, f"d.pop({one.attribute!r})")
                lines.append(f"if {one.attribute!r} in d: d[{one.name!r}] = {plain}")
        return [*lines, "return d"]

    def _known_by_class(self, node: UnionNode) -> list[Node]:
        """Return the branches whose values are converted, or named, by their class; codecs distinguish the others."""
        models = models_in(node)
        dicts = [one for one in models if one.kind is ModelKind.TYPED_DICT]
        if len(dicts) > 1 and any(map(self._is_changed, dicts)):
            names = " | ".join(one.python.__name__ for one in dicts)
            raise ModelError(
                f"{names} cannot be distinguished by class when they are written; use dataclasses", type_text=names
            )
        skipped = dicts if len(dicts) > 1 else []
        named = models if len(models) > 1 else []
        return [one for one in node.branches if one not in skipped and (one in named or self._is_changed(one))]


def _class_of(node: Node) -> type:
    """Return the class of a branch's values."""
    match node:
        case EnumNode(python=python) | ModelListNode(python=python) | RootNode(python=python):
            return python
        case ModelNode(python=python, kind=kind) if kind is not ModelKind.TYPED_DICT:
            return python
        case _:
            return dict


# Plain values that codecs have read as objects of a program: generated code.
#
# A dict becomes a model by its constructor, a symbol a member, a list a tuple or a set. Where a union has several
# models, ``TYPE_KEY`` in the dict names the record. The code raises any exception for a value that does not fit, and
# then :mod:`.making_walk` makes the object again and either returns it or raises the error that has the place.


def compile_making(root: Node, names: Names) -> Callable[[Datum], Datum]:
    """Return a function that makes an object of a plain value.

    Raises ``IncompatibleReader`` for a class with a field that no value has. The function raises ``DecodeError`` with
    the path.
    """
    make = _MakingWriter(names).compile(root)

    def make_or_explain(value: object) -> Datum:
        try:
            return make(value)
        except Exception:  # noqa: BLE001 - constructors and validators of the program may raise anything
            return MakingWalk(names).make(root, value)

    return make_or_explain


def has_choices(root: Node) -> bool:
    """Return whether a union has several models, so that the dicts that are read must have ``TYPE_KEY``."""
    return any(isinstance(node, UnionNode) and len(models_in(node)) > 1 for node in nodes_of(root))


def _differs_when_made(node: Node) -> bool:
    match node:
        case EnumNode() | ModelNode() | RootNode():
            return True
        case ModelListNode(python=python):
            return python is not list
        case ModelScalarNode():
            return moment_of(node) is not None
        case _:
            return False


class _MakingWriter(ModelWriter):
    """Writes the code that makes objects."""

    def __init__(self, names: Names) -> None:
        super().__init__("make", _differs_when_made, {"new": object.__new__})
        self._names = names

    def _part(self, node: Node, value: str) -> str:
        match node:
            case EnumNode(symbols=symbols):
                return f"{self._out.bind('members', dict(symbols))}[{value}]"
            case RootNode(python=python, root=root):
                return f"{self._out.bind('validate', validator_of(python))}({self._converted(root, value)})"
            case ModelScalarNode():
                return f"{self._out.bind('moment', moment_of(node))}({value})"
            case ModelListNode(items=items, python=python):
                item = self._out.name("v")
                is_changed = self._is_changed(items)
                made = f"[{self._converted(items, item)} for {item} in {value}]" if is_changed else value
                return made if python is list else f"{self._out.bind('kind', python)}({made})"
            case MapNode(values=values):
                key, item = self._out.name("k"), self._out.name("v")
                return f"{{{key}: {self._converted(values, item)} for {key}, {item} in {value}.items()}}"
            case _:
                raise AssertionError(node)

    def _branches(self, node: UnionNode) -> Iterable[tuple[type, str]]:
        for one in node.branches:
            if self._is_changed(one) and not isinstance(one, ModelNode):
                yield _plain_class(one), self._converted(one, "v")
        models = models_in(node)
        if len(models) == 1:
            yield dict, self._converted(models[0], "v")
        elif models:
            by_name = ", ".join(f"{self._names.name_of(one)!r}: {self._name(one)}" for one in models)
            yield dict, f"{{{by_name}}}[v[{TYPE_KEY!r}]](v)"

    def _model(self, node: ModelNode) -> list[str]:
        values = [(one, self._converted(one.type, f"v[{one.name!r}]")) for one in self._names.fields_of(node)]
        cls = self._out.bind("Class", node.python)
        if node.kind is ModelKind.TYPED_DICT:
            return _typed_dict(values, is_sparse=self._names.is_sparse)
        if node.kind is ModelKind.PYDANTIC:
            entries = ", ".join(f"{one.argument!r}: {made}" for one, made in values)
            return [f"return {self._out.bind('validate', validator_of(node.python))}({{{entries}}})"]
        if self._names.is_sparse:
            return self._sparse(cls, node)
        if len(values) == len(node.fields) and only_sets_attributes(node.python, node.kind):  # in half the time
            return [f"o = new({cls})", *(f"o.{one.attribute} = {made}" for one, made in values), "return o"]
        arguments = ", ".join(f"{one.argument}={made}" for one, made in values)
        return [f"return {cls}({arguments})"]

    def _sparse(self, cls: str, node: ModelNode) -> list[str]:
        """Return the lines that make an object of a dict without some of the fields."""
        entries, rest = [], []
        for one in node.fields:
            if one.is_optional:
                made = self._converted(one.type, f"v[{one.name!r}]")
                rest.append(f"if {one.name!r} in v: d[{one.argument!r}] = {made}")
            else:
                value = f"v.get({one.name!r})" if accepts_null(one) else f"v[{one.name!r}]"
                entries.append(f"{one.argument!r}: {self._converted(one.type, value)}")
        return [f"d = {{{', '.join(entries)}}}", *rest, f"return {cls}(**d)"]


def _typed_dict(values: list[tuple[FieldNode, str]], *, is_sparse: bool) -> list[str]:
    """Return the lines that make a dict; a key that may be absent is absent for null, unless null is a value of it."""
    entries = ", ".join(f"{one.attribute!r}: {made}" for one, made in values if not one.is_null_absence)
    lines = [f"d = {{{entries}}}"]
    for one, made in values:
        if one.is_null_absence:
            value = f"v.get({one.name!r})" if is_sparse else f"v[{one.name!r}]"
            lines.append(f"if {value} is not None: d[{one.attribute!r}] = {made}")
    return [*lines, "return d"]


def _plain_class(node: Node) -> type:
    """Return the class of a branch's plain values."""
    match node:
        case EnumNode():
            return str
        case ModelListNode():
            return list
        case ModelScalarNode():
            return int  # nanoseconds
        case _:
            return dict


# A model beside a schema: the functions that turn its objects into values of the codec, and back.


class ModelConverter(PickledByArguments):
    """The conversions of a model as ``to_dict`` and ``from_dict`` of a serializer, one of Protobuf for example.

    Where a union has several models, :meth:`to_dict` makes pairs of name and dict, which Avro takes, and
    :meth:`from_dict` needs the name under the key ``-type``. Raises ``ModelError``.
    """

    def __init__(self, model: object) -> None:
        root = describe(model)
        names = Names({}, is_sparse=True)
        self._take = compile_taking(root, names.name_of)
        self._make = compile_making(root, names)

    def to_dict(self, value: object, ctx: object = None) -> Datum:
        """Return the plain value of an object; a value that is of no model is returned as it is."""
        del ctx
        return self._take(value)

    def from_dict(self, value: object, ctx: object = None) -> Datum:
        """Return the object of a plain value, in which fields that are null or have a default may be missing.

        Raises ``DecodeError`` with the path.
        """
        del ctx
        return self._make(value)


class AvroModel:
    """A model whose objects are written and read as Avro. Raises ``ModelError``."""

    def __init__(self, model: object) -> None:
        self._root = describe(model)
        self._shown = getattr(model, "__name__", str(model))

    @cached_property
    def schema(self) -> str:
        """The text of the schema that is derived from the model. Raises ``ModelError``."""
        return avro_schema(self._root)

    @property
    def needs_names(self) -> bool:
        """Whether the dicts that are read must name their records."""
        return has_choices(self._root)

    def encoder(self, encode: Encode, schema: AvroType) -> Encode:
        """Return a function that writes objects, on one that writes plain values of ``schema``."""
        take = self.taking(schema)
        return lambda value, prefix, /: encode(take(value), prefix)

    def decoder(self, decode: Decode, schema: AvroType) -> Decode:
        """Return a function that reads objects, on one that reads plain values of ``schema``."""
        make = self.making(schema)
        return lambda data, offset, /: make(decode(data, offset))

    def taking(self, schema: AvroType) -> Callable[[Datum], Datum]:
        """Return the function from objects to plain values of ``schema``; it raises ``EncodeError``."""
        take = compile_taking(self._root, Names(match_records(self._root, schema)).name_of)

        def take_object(value: object, /) -> Datum:
            try:
                return take(value)
            except SerdeError:
                raise
            except Exception as error:
                expected, got = self._shown, shown(value)
                problem = f"The value: expected a complete {expected}; got {got}: {type(error).__name__}: {error}"
                raise EncodeError(problem, expected=expected, got=got) from error

        return take_object

    def making(self, schema: AvroType) -> Callable[[Datum], Datum]:
        """Return the function from plain values of ``schema`` to objects."""
        return compile_making(self._root, Names(match_records(self._root, schema)))
