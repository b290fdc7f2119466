"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

serve = "counterfoil.registry.cli:serve", "Run the schema registry until SIGTERM or SIGINT.", "Registry"
db = "counterfoil.registry.db_cli:db", "Upgrade, check or measure a registry's store.", "Administration"
auth = (
    "counterfoil.registry.auth_cli.commands:auth",
    "Declare and check who may do what: users, tokens, rules.",
    "Administration",
)
audit = "counterfoil.registry.audit_cli:audit", "Verify or show the audit files of a registry.", "Administration"
export = (
    "counterfoil.registry.moving.cli:export_command",
    "Write the whole content of a registry to one file.",
    "Administration",
)
import_ = (
    "counterfoil.registry.moving.cli:import_command",
    "Import a backup, another registry or a schemas topic into a registry.",
    "Administration",
)
compare = (
    "counterfoil.registry.moving.cli:compare_command",
    "List every difference between two running registries.",
    "Administration",
)
