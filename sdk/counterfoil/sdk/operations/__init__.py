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
    from counterfoil.sdk.operations.bridges_and_sketches import *
    from counterfoil.sdk.operations.config_keys_associations import *
    from counterfoil.sdk.operations.contracts import *
    from counterfoil.sdk.operations.operation import *
    from counterfoil.sdk.operations.registered_schemas import *


_NAMES_BY_MODULE = {
    "operation": ("ReplyForm", "Operation", "page_of", "as_json", "read_reply"),
    "registered_schemas": (
        "ping",
        "schema_types",
        "contexts",
        "delete_context",
        "changes",
        "schema_by_id",
        "schema_text_by_id",
        "subjects_of_id",
        "versions_of_id",
        "schema_by_guid",
        "ids_of_guid",
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
    "config_keys_associations": (
        "config",
        "set_config",
        "delete_config",
        "mode",
        "set_mode",
        "delete_mode",
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
        "associations",
        "associations_of_resource",
        "associated_subjects",
        "create_association",
        "associations_by_name",
        "create_associations",
        "delete_associations",
    ),
    "contracts": (
        "approvals",
        "approve",
        "revoke_approval",
        "verifications",
        "publish_verification",
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
        "migrations",
        "put_migration",
        "migration_status",
        "can_i_deploy",
        "can_i_merge",
        "can_i_retire",
        "matrix",
        "check_schema",
        "check_contract",
        "consumers",
        "read_fields",
        "post_usage",
        "observed_uses",
        "topics",
        "topic_stats",
        "post_topic_stats",
        "webhooks",
        "create_webhook",
        "delete_webhook",
        "deliveries",
        "redeliver",
    ),
    "bridges_and_sketches": (
        "sketched_subjects",
        "sketch",
        "put_sketch",
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
}

__getattr__, __dir__ = late_names(
    globals(), {name: f"sdk.operations.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names}
)
