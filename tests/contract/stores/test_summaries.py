"""The latest versions of the first subjects in ranges, on every storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.registry.store.name_ranges import SubjectRange
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.model import SchemaType
from counterfoil.schema.rest.versions import Visibility
from strategies.registry.write_plans import SOFT, append, delete

if TYPE_CHECKING:
    from counterfoil.registry.store.protocol import Storage


def test_summaries_of_subjects_are_read_by_range(run: Any) -> None:
    async def behaviour(storage: Storage) -> None:
        for name, texts in {"a": "xyz", "b": "x", "c": "xy", ":.ctx:a": "x", "": "x", "a%": "x"}.items():
            for text in texts:
                await append(storage, parse_subject(name), text)
        await delete(storage, SOFT, parse_subject("a"), 3)
        await delete(storage, SOFT, parse_subject("c"), 1, 2)

        async def listed(visibility: Visibility, *ranges: SubjectRange, limit: int = 99) -> list[tuple[str, int, int]]:
            found = await storage.summaries(ranges, visibility, limit)
            for each in found:
                history = await storage.history(each.subject)
                assert each.latest == history.find(each.latest.version, deleted=True)
                assert each.latest.deleted is not bool(history.active)
                assert each.schema_type is SchemaType.AVRO
            return [(str(each.subject), each.versions, each.latest.version) for each in found]

        everywhere = (SubjectRange(".", "", None), SubjectRange(".ctx", "", None), SubjectRange(".none", "", None))
        active = [("", 1, 1), ("a", 2, 2), ("a%", 1, 1), ("b", 1, 1), (":.ctx:a", 1, 1)]
        assert await listed(Visibility.ACTIVE, *everywhere) == active
        assert await listed(Visibility.ACTIVE, *everywhere, limit=4) == active[:4]
        assert await listed(Visibility.DELETED_ONLY, *everywhere) == [("c", 2, 2)]
        assert await listed(Visibility.WITH_DELETED, SubjectRange(".", "b", "d")) == [("b", 1, 1), ("c", 2, 2)]
        after = SubjectRange(".", "a\x01", None)
        assert await listed(Visibility.ACTIVE, after, *everywhere[1:], limit=2) == active[2:4]
        assert await listed(Visibility.ACTIVE) == []

    run(behaviour)
