"""The names of ``confluent_kafka.schema_registry``, so that a program changes to this SDK by its import lines alone.

The classes have the arguments of confluent-kafka's, settings with dotted names among them; a setting without a
counterpart raises ``InvalidSettings``. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.late_modules import late_names

if TYPE_CHECKING:
    from counterfoil.sdk.confluent.avro import (
        AsyncAvroDeserializer,
        AsyncAvroSerializer,
        AvroDeserializer,
        AvroSerializer,
    )
    from counterfoil.sdk.confluent.client import AsyncSchemaRegistryClient, SchemaRegistryClient
    from counterfoil.sdk.confluent.json_schema import (
        AsyncJSONDeserializer,
        AsyncJSONSerializer,
        JSONDeserializer,
        JSONSerializer,
    )
    from counterfoil.sdk.confluent.protobuf import (
        AsyncProtobufDeserializer,
        AsyncProtobufSerializer,
        ProtobufDeserializer,
        ProtobufSerializer,
    )
    from counterfoil.sdk.confluent.values import (
        Association,
        AssociationCreateOrUpdateInfo,
        AssociationCreateOrUpdateRequest,
        AssociationInfo,
        AssociationResponse,
        ConfigCompatibilityLevel,
        Metadata,
        MetadataProperties,
        MetadataTags,
        RegisteredSchema,
        Rule,
        RuleKind,
        RuleMode,
        RuleParams,
        RuleSet,
        Schema,
        SchemaReference,
        SchemaRegistryError,
        ServerConfig,
        dual_schema_id_deserializer,
        header_schema_id_serializer,
        prefix_schema_id_deserializer,
        prefix_schema_id_serializer,
        record_subject_name_strategy,
        reference_subject_name_strategy,
        topic_record_subject_name_strategy,
        topic_subject_name_strategy,
    )


_MODULE_BY_NAME = {
    "AsyncAvroDeserializer": "sdk.confluent.avro",
    "AsyncAvroSerializer": "sdk.confluent.avro",
    "AsyncJSONDeserializer": "sdk.confluent.json_schema",
    "AsyncJSONSerializer": "sdk.confluent.json_schema",
    "AsyncProtobufDeserializer": "sdk.confluent.protobuf",
    "AsyncProtobufSerializer": "sdk.confluent.protobuf",
    "AsyncSchemaRegistryClient": "sdk.confluent.client",
    "AvroDeserializer": "sdk.confluent.avro",
    "AvroSerializer": "sdk.confluent.avro",
    "JSONDeserializer": "sdk.confluent.json_schema",
    "JSONSerializer": "sdk.confluent.json_schema",
    "ProtobufDeserializer": "sdk.confluent.protobuf",
    "ProtobufSerializer": "sdk.confluent.protobuf",
    "SchemaRegistryClient": "sdk.confluent.client",
    "dual_schema_id_deserializer": "sdk.confluent.values",
    "header_schema_id_serializer": "sdk.confluent.values",
    "prefix_schema_id_deserializer": "sdk.confluent.values",
    "prefix_schema_id_serializer": "sdk.confluent.values",
    "record_subject_name_strategy": "sdk.confluent.values",
    "reference_subject_name_strategy": "sdk.confluent.values",
    "topic_record_subject_name_strategy": "sdk.confluent.values",
    "topic_subject_name_strategy": "sdk.confluent.values",
    **dict.fromkeys(
        (
            "Association",
            "AssociationCreateOrUpdateInfo",
            "AssociationCreateOrUpdateRequest",
            "AssociationInfo",
            "AssociationResponse",
            "ConfigCompatibilityLevel",
            "Metadata",
            "MetadataProperties",
            "MetadataTags",
            "RegisteredSchema",
            "Rule",
            "RuleKind",
            "RuleMode",
            "RuleParams",
            "RuleSet",
            "Schema",
            "SchemaReference",
            "SchemaRegistryError",
            "ServerConfig",
        ),
        "sdk.confluent.values",
    ),
}

__all__ = [
    "Association",
    "AssociationCreateOrUpdateInfo",
    "AssociationCreateOrUpdateRequest",
    "AssociationInfo",
    "AssociationResponse",
    "AsyncAvroDeserializer",
    "AsyncAvroSerializer",
    "AsyncJSONDeserializer",
    "AsyncJSONSerializer",
    "AsyncProtobufDeserializer",
    "AsyncProtobufSerializer",
    "AsyncSchemaRegistryClient",
    "AvroDeserializer",
    "AvroSerializer",
    "ConfigCompatibilityLevel",
    "JSONDeserializer",
    "JSONSerializer",
    "Metadata",
    "MetadataProperties",
    "MetadataTags",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RuleParams",
    "RuleSet",
    "Schema",
    "SchemaReference",
    "SchemaRegistryClient",
    "SchemaRegistryError",
    "ServerConfig",
    "dual_schema_id_deserializer",
    "header_schema_id_serializer",
    "prefix_schema_id_deserializer",
    "prefix_schema_id_serializer",
    "record_subject_name_strategy",
    "reference_subject_name_strategy",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]

__getattr__, __dir__ = late_names(globals(), _MODULE_BY_NAME)
