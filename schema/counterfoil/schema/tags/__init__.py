"""Tags inside schemas: finding them, and adding and removing them.

Source: Confluent's ``confluent:tags`` of Avro and JSON schemas and its options ``confluent.field_meta`` and
``confluent.message_meta`` of Protobuf; entity paths as in its REST API.
"""
