"""Every endpoint as a value: how the request is made, and how its response is read. Both clients use them.

Each function returns an :class:`Operation` and does no I/O. Path segments are percent-encoded once, with any content.
The names are loaded when they are first used, so that a program does not import the endpoints that it does not call.
No module here has the name of a function, because the module would hide the function.

Source: the public REST API of Confluent Schema Registry, 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.late_modules import late_names

if TYPE_CHECKING:
    from counterfoil.sdk.operations.approvals_and_verifications import *
    from counterfoil.sdk.operations.config_and_mode import *
    from counterfoil.sdk.operations.contract_migrations import *
    from counterfoil.sdk.operations.contracts import *
    from counterfoil.sdk.operations.event_delivery import *
    from counterfoil.sdk.operations.keys import *
    from counterfoil.sdk.operations.observations import *
    from counterfoil.sdk.operations.operation import *
    from counterfoil.sdk.operations.registered_bridges import *
    from counterfoil.sdk.operations.registry import *
    from counterfoil.sdk.operations.replies import *
    from counterfoil.sdk.operations.resources import *
    from counterfoil.sdk.operations.schema_ids import *
    from counterfoil.sdk.operations.sketches import *
    from counterfoil.sdk.operations.subject_versions import *
    from counterfoil.sdk.operations.verdicts import *

_NAMES_BY_MODULE = {
    "operation": ("ReplyForm", "Operation", "page_of", "as_json"),
    "replies": ("read_reply",),
    "registry": ("ping", "schema_types", "contexts", "delete_context", "changes"),
    "schema_ids": (
        "schema_by_id",
        "schema_text_by_id",
        "subjects_of_id",
        "versions_of_id",
        "schema_by_guid",
        "ids_of_guid",
    ),
    "subject_versions": (
        "subjects",
        "schemas",
        "lookup",
        "register",
        "versions",
        "version",
        "schema_text",
        "version_with_metadata",
        "referenced_by",
        "delete_subject",
        "delete_version",
        "check_compatibility",
    ),
    "config_and_mode": ("config", "set_config", "delete_config", "mode", "set_mode", "delete_mode"),
    "keys": (
        "keks",
        "kek",
        "create_kek",
        "delete_kek",
        "undelete_kek",
        "dek_subjects",
        "dek_versions",
        "dek",
        "create_dek",
        "delete_dek",
    ),
    "resources": (
        "associations",
        "associations_of_resource",
        "associated_subjects",
        "create_association",
        "associations_by_name",
        "create_associations",
        "delete_associations",
    ),
    "approvals_and_verifications": (
        "approvals",
        "approve",
        "revoke_approval",
        "verifications",
        "publish_verification",
    ),
    "sketches": ("sketched_subjects", "sketch", "put_sketch"),
    "registered_bridges": (
        "bridges",
        "bridge",
        "register_bridge",
        "change_bridge",
        "delete_bridge",
        "bridge_gates",
        "change_bridge_state",
        "report_progress",
        "report_verification",
        "report_readers",
    ),
    "contracts": (
        "applications",
        "put_application",
        "application_versions",
        "put_application_version",
        "publish",
        "published_contracts",
        "published_contract",
        "contract_diff",
        "environments",
        "put_environment",
        "deployments",
        "record_deployment",
        "end_deployment",
    ),
    "contract_migrations": ("migrations", "put_migration", "migration_status"),
    "verdicts": (
        "can_i_deploy",
        "can_i_merge",
        "can_i_retire",
        "matrix",
        "check_schema",
        "check_contract",
        "consumers",
        "read_fields",
    ),
    "observations": ("post_usage", "observed_uses", "topics", "topic_stats", "post_topic_stats"),
    "event_delivery": ("webhooks", "create_webhook", "delete_webhook", "deliveries", "redeliver"),
}

__getattr__, __dir__ = late_names(
    globals(), {name: f"sdk.operations.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names}
)
