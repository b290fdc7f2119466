"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

serve = "counterfoil.registry.serving.command:serve", "Run the schema registry until SIGTERM or SIGINT.", "Registry"
db = "counterfoil.registry.store.command:db", "Upgrade, check or measure a registry's store.", "Administration"
auth = (
    "counterfoil.registry.access.command:auth",
    "Declare and check who may do what: users, tokens, rules.",
    "Administration",
)
audit = "counterfoil.registry.audit.command:audit", "Verify or show the audit files of a registry.", "Administration"
export = (
    "counterfoil.registry.moving.command:export_command",
    "Write the whole content of a registry to one file.",
    "Administration",
)
import_ = (
    "counterfoil.registry.moving.command:import_command",
    "Import a backup, another registry or a schemas topic into a registry.",
    "Administration",
)
compare = (
    "counterfoil.registry.moving.command:compare_command",
    "List every difference between two running registries.",
    "Administration",
)
