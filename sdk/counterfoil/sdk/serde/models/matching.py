"""Which record of an Avro schema each class of a model is, where the schema is not the derived one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.types import Array, Map, Record, Union
from counterfoil.sdk.errors import ModelError
from counterfoil.sdk.serde.models.description import ListNode, MapNode, ModelNode, RootNode, UnionNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.sdk.serde.models.description import Node


def match_records(root: Node, schema: AvroType) -> Mapping[ModelNode, Record]:
    """Return the record of each class, found by the names of fields from the root on.

    In a union of several classes or several records, their names decide: with the namespace, else without. Raises
    ``ModelError`` for a class that would be two records.
    """
    found: dict[ModelNode, Record] = {}
    rest: list[tuple[Node, AvroType]] = [(root, schema)]
    while rest:
        node, avro_type = rest.pop()
        if isinstance(node, ModelNode) and isinstance(avro_type, Record):
            known = found.setdefault(node, avro_type)
            if known is not avro_type:
                names = f"{known.full_name} and {avro_type.full_name}"
                name = node.python.__name__
                raise ModelError(f"{name} would be two records of the schema, {names}; use two classes", model=name)
        rest += [pair for pair in _inside(node, avro_type) if pair[0] not in found]
    return found


def _inside(node: Node, avro_type: AvroType) -> Iterator[tuple[Node, AvroType]]:
    match node, avro_type:
        case (RootNode(root=root), _):
            yield root, avro_type
        case (UnionNode(), _) | (_, Union()):
            nodes = [_plain(each) for each in (node.branches if isinstance(node, UnionNode) else (node,))]
            types = avro_type.branches if isinstance(avro_type, Union) else (avro_type,)
            yield from _of_unions(nodes, types)
        case ModelNode(fields=fields), Record(fields=theirs):
            type_by_name = {field.name: field.type for field in theirs}
            yield from ((one.type, type_by_name[one.name]) for one in fields if one.name in type_by_name)
        case (ListNode(items=inner), Array(items=other)) | (MapNode(values=inner), Map(values=other)):
            yield inner, other


def _of_unions(nodes: Sequence[Node], types: Sequence[AvroType]) -> Iterator[tuple[Node, AvroType]]:
    for one, other in ((ListNode, Array), (MapNode, Map)):
        yield from zip(_of(one, nodes), _of(other, types), strict=False)
    models = [node for node in nodes if isinstance(node, ModelNode)]
    records = [each for each in types if isinstance(each, Record)]
    if len(models) == len(records) == 1:
        yield models[0], records[0]
        return
    for model in models:
        named = [each for each in records if each.name == model.name.name]
        exact = [each for each in named if each.namespace == model.name.namespace]
        for record in exact or (named if len(named) == 1 else []):
            yield model, record


def _plain(node: Node) -> Node:
    return node.root if isinstance(node, RootNode) else node


def _of(kind: type, candidates: Sequence[Node] | Sequence[AvroType]) -> list[object]:
    return [each for each in candidates if isinstance(each, kind)]
