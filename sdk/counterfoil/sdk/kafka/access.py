"""How a Kafka cluster is reached."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from counterfoil.sdk.kafka.translation import for_java, for_librdkafka, with_files_read

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class KafkaAccess:
    """How a Kafka cluster is reached: its addresses, and further settings, such as those of its login.

    The settings are spelt as librdkafka or as Kafka's Java clients name them; they are not in ``repr``.
    """

    servers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client_settings(self) -> dict[str, Any]:
        """Return the settings of a client of confluent-kafka, which is librdkafka's."""
        return {"bootstrap.servers": self.servers, "log_level": 0, **for_librdkafka(self.settings)}

    def java_settings(self) -> dict[str, str]:
        """Return the settings of a Java client; raise ``InvalidSettings`` if it has no such settings."""
        return {"bootstrap.servers": self.servers, **for_java(self.settings)}

    def with_files_read(self) -> KafkaAccess:
        """Return the same access for other machines: with the contents of certificate files instead of their paths."""
        return replace(self, settings=with_files_read(self.settings))
