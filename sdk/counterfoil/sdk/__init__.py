"""The room of producers and consumers: the registry client, serializers, adapters.

The names below are loaded when they are first used, so that a program does not import what it does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.late_modules import late_names

if TYPE_CHECKING:
    from counterfoil.schema.rest.subjects import Config, Mode
    from counterfoil.schema.rest.versions import (
        Compatibility,
        ContextId,
        Deletion,
        RegisteredSchema,
        SubjectVersion,
        Visibility,
    )
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.client.asynchronous import AsyncRegistry
    from counterfoil.sdk.client.settings import (
        BasicAuth,
        BearerToken,
        CacheSettings,
        ClientCredentials,
        RegistrySettings,
        TlsSettings,
        TokenFile,
    )
    from counterfoil.sdk.errors import (
        DamagedBundle,
        DecodeError,
        EncodeError,
        EncryptionError,
        FrameError,
        IncompatibleReader,
        InvalidSettings,
        KeyMismatch,
        KeyMissing,
        KeyRefused,
        KeyUnavailable,
        ModelError,
        NotDecrypted,
        NotEncrypted,
        NotFramed,
        RegistryUnavailable,
        RuleConditionFailed,
        RuleError,
        RuleTypeMissing,
        SchemaForbidden,
        SchemaNotCached,
        SchemaUnusable,
        SerdeError,
        SubjectUnresolved,
        TruncatedFrame,
        UnexpectedReply,
        UnknownSchemaId,
        ValidationError,
        Violation,
    )
    from counterfoil.sdk.serde import MessageField, SerializationContext
    from counterfoil.sdk.serde.asynchronous import AsyncDeserializer, AsyncSerializer
    from counterfoil.sdk.serde.avro import AvroDeserializer, AvroSerializer
    from counterfoil.sdk.serde.avro.numbers import Duration
    from counterfoil.sdk.serde.deserializer import Decoded, Deserializer
    from counterfoil.sdk.serde.json import JsonDeserializer, JsonSerializer
    from counterfoil.sdk.serde.models.binding import ModelConverter
    from counterfoil.sdk.serde.models.markers import AvroType, ModelField, type_name
    from counterfoil.sdk.serde.models.schemas import schema_of
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.protobuf import ProtobufDeserializer, ProtobufSerializer
    from counterfoil.sdk.serde.rules.settings import Override, Rules
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import RECORD, TOPIC, TOPIC_RECORD, Associated
    from counterfoil.sdk.transport import RetrySettings
    from counterfoil.sdk.usage import Usage


_MODULE_BY_NAME = {
    "AsyncDeserializer": "sdk.serde.asynchronous",
    "AsyncRegistry": "sdk.client.asynchronous",
    "AsyncSerializer": "sdk.serde.asynchronous",
    "AvroDeserializer": "sdk.serde.avro",
    "AvroSerializer": "sdk.serde.avro",
    "Decoded": "sdk.serde.deserializer",
    "Deserializer": "sdk.serde.deserializer",
    "Duration": "sdk.serde.avro.numbers",
    "JsonDeserializer": "sdk.serde.json",
    "JsonSerializer": "sdk.serde.json",
    "MessageField": "sdk.serde",
    "MultiDeserializer": "sdk.serde.multi",
    "ProtobufDeserializer": "sdk.serde.protobuf",
    "ProtobufSerializer": "sdk.serde.protobuf",
    **dict.fromkeys(("AvroType", "ModelField", "type_name"), "sdk.serde.models.markers"),
    "ModelConverter": "sdk.serde.models.binding",
    "schema_of": "sdk.serde.models.schemas",
    "Registry": "sdk.client",
    "SerializationContext": "sdk.serde",
    "Serializer": "sdk.serde.serializer",
    "Usage": "sdk.usage",
    "Config": "schema.rest.subjects",
    "Mode": "schema.rest.subjects",
    **dict.fromkeys(
        ("Compatibility", "ContextId", "Deletion", "RegisteredSchema", "SubjectVersion", "Visibility"),
        "schema.rest.versions",
    ),
    **dict.fromkeys(
        (
            "DamagedBundle",
            "DecodeError",
            "EncodeError",
            "EncryptionError",
            "FrameError",
            "IncompatibleReader",
            "InvalidSettings",
            "KeyMismatch",
            "KeyMissing",
            "KeyRefused",
            "KeyUnavailable",
            "ModelError",
            "NotDecrypted",
            "NotEncrypted",
            "NotFramed",
            "RegistryUnavailable",
            "RuleConditionFailed",
            "RuleError",
            "RuleTypeMissing",
            "SchemaForbidden",
            "SchemaNotCached",
            "SchemaUnusable",
            "SerdeError",
            "SubjectUnresolved",
            "TruncatedFrame",
            "UnexpectedReply",
            "UnknownSchemaId",
            "ValidationError",
            "Violation",
        ),
        "sdk.errors",
    ),
    **dict.fromkeys(("BasicAuth", "BearerToken", "ClientCredentials", "TokenFile"), "sdk.client.settings"),
    **dict.fromkeys(("CacheSettings", "RegistrySettings"), "sdk.client.settings"),
    "RetrySettings": "sdk.transport",
    **dict.fromkeys(("Override", "Rules"), "sdk.serde.rules.settings"),
    "TlsSettings": "sdk.client.settings",
    **dict.fromkeys(("Associated", "RECORD", "TOPIC", "TOPIC_RECORD"), "sdk.subjects"),
}

__all__ = [
    "RECORD",
    "TOPIC",
    "TOPIC_RECORD",
    "Associated",
    "AsyncDeserializer",
    "AsyncRegistry",
    "AsyncSerializer",
    "AvroDeserializer",
    "AvroSerializer",
    "AvroType",
    "BasicAuth",
    "BearerToken",
    "CacheSettings",
    "ClientCredentials",
    "Compatibility",
    "Config",
    "ContextId",
    "DamagedBundle",
    "DecodeError",
    "Decoded",
    "Deletion",
    "Deserializer",
    "Duration",
    "EncodeError",
    "EncryptionError",
    "FrameError",
    "IncompatibleReader",
    "InvalidSettings",
    "JsonDeserializer",
    "JsonSerializer",
    "KeyMismatch",
    "KeyMissing",
    "KeyRefused",
    "KeyUnavailable",
    "MessageField",
    "Mode",
    "ModelConverter",
    "ModelError",
    "ModelField",
    "MultiDeserializer",
    "NotDecrypted",
    "NotEncrypted",
    "NotFramed",
    "Override",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Registry",
    "RegistrySettings",
    "RegistryUnavailable",
    "RetrySettings",
    "RuleConditionFailed",
    "RuleError",
    "RuleTypeMissing",
    "Rules",
    "SchemaForbidden",
    "SchemaNotCached",
    "SchemaUnusable",
    "SerdeError",
    "SerializationContext",
    "Serializer",
    "SubjectUnresolved",
    "SubjectVersion",
    "TlsSettings",
    "TokenFile",
    "TruncatedFrame",
    "UnexpectedReply",
    "UnknownSchemaId",
    "Usage",
    "ValidationError",
    "Violation",
    "Visibility",
    "schema_of",
    "type_name",
]

__getattr__, __dir__ = late_names(globals(), _MODULE_BY_NAME)
