"""How many records of a topic trigger the findings about a schema file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.model import TopicRecords
from counterfoil.schema.compatibility.identity import identity_of
from counterfoil.schema.compatibility.levels import Direction
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterfoil.contracts.checking.drafting import FileDrafts
    from counterfoil.contracts.checking.request import FileRequest
    from counterfoil.contracts.model import Finding
    from counterfoil.contracts.topic_records import WeighedSchema
    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema

_UNREAD_IN_TOPIC: Final = "unread-in-topic"


class TopicWeights:
    """The records of the topic of one schema, where a sketch has them."""

    def __init__(self, schema: ParsedSchema | None, request: FileRequest, drafts: FileDrafts) -> None:
        self._schema = schema
        self._request = request
        self._drafts = drafts
        self._weighed: WeighedSchema | None = None
        self._weighable: Collection[str] = frozenset()

    def with_records(self, finding: Finding) -> Finding:
        """Return a finding with the number of records that trigger it; one that none triggers may be a notice."""
        weighed, topics = self._weighed, self._request.topics
        if weighed is None or topics is None or finding.direction is None:
            return finding
        if finding.direction != Direction.BACKWARD.name:
            return replace(finding, records=TopicRecords(None, weighed.total, is_about_later=True))
        is_known = finding.fingerprint in self._weighable and not finding.also_breaks
        records = weighed.records(finding.fingerprint, is_known=is_known)
        is_ignored = topics.ignores_untriggered and records.is_harmless
        return replace(finding, records=records, severity=Severity.NOTICE if is_ignored else finding.severity)

    def weigh(self, weighable: Collection[str]) -> None:
        """Weigh the schema with the records of its topic, and report what the earlier versions do not show.

        ``weighable`` are the fingerprints of the differences from these versions.
        """
        self._weighable = weighable
        topics, schema = self._request.topics, self._schema
        if topics is None or schema is None or not self._request.level.directions:
            return
        backward = Direction.BACKWARD

        def known_as(difference: Difference) -> str:
            return self._drafts.fingerprint(difference.rule, backward.name, identity_of(difference))

        weighed = topics.weigh(self._drafts.subject, schema, policy=self._request.policy, fingerprint=known_as)
        self._weighed = weighed
        if weighed is not None and backward in self._request.level.directions:
            for each in weighed.unreported(weighable):
                severity = Severity.ERROR if topics.ignores_untriggered else Severity.WARNING
                identity = (each.writer, identity_of(each.difference))
                self._drafts.report(
                    _UNREAD_IN_TOPIC, severity, each.text, path=each.difference.element, identity=identity
                )

    @property
    def has_sketch(self) -> bool:
        """Whether a sketch has the records of this schema's subject."""
        topics, schema = self._request.topics, self._schema
        return topics is not None and schema is not None and topics.find_part(self._drafts.subject, schema) is not None
