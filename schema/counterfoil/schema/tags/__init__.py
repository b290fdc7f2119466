"""Tags inside schemas: what carries which tag, and schemas with tags added and removed.

Source: Confluent's ``confluent:tags`` of Avro and JSON schemas and its options ``confluent.field_meta`` and
``confluent.message_meta`` of Protobuf; entity paths as its REST API has them.
"""

from counterfoil.schema.tags.edit import edit_tags, find_tags
from counterfoil.schema.tags.model import Entity, EntityKind, TagEdit
from counterfoil.schema.tags.paths import matches_path, tags_by_entity

__all__ = ["Entity", "EntityKind", "TagEdit", "edit_tags", "find_tags", "matches_path", "tags_by_entity"]
