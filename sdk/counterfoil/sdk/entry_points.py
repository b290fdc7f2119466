"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

subjects = (
    "counterfoil.sdk.commands.registry:subjects",
    "List, show and delete subjects, which hold the versions of a schema.",
    "Registry",
)
config = (
    "counterfoil.sdk.commands.registry:config",
    "Show and change compatibility levels and other settings.",
    "Registry",
)
mode = "counterfoil.sdk.commands.registry:mode", "Show and change which operations a registry permits.", "Registry"
bridges = (
    "counterfoil.sdk.commands.bridges:bridges",
    "Manage the bridges that a registry stores, and their states.",
    "Bridges",
)
bundle = (
    "counterfoil.sdk.commands.bundle:bundle",
    "Write the schemas of a registry to one file, for use without it.",
    "Registry",
)
