"""Tags inside schemas: what carries which tag, and schemas with tags added and removed.

Source: Confluent's ``confluent:tags`` of Avro and JSON schemas and its options ``confluent.field_meta`` and
``confluent.message_meta`` of Protobuf; entity paths as its REST API has them.
"""
