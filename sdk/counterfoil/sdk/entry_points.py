"""The room's commands: the location of each, and its line in ``counterfoil --help``. Nothing is imported."""

subjects = "counterfoil.sdk.commands.subjects:subjects", "List, show and delete the subjects of a registry."
config = "counterfoil.sdk.commands.config:config", "Show and change compatibility levels and other settings."
mode = "counterfoil.sdk.commands.mode:mode", "Show and change which operations a registry permits."
bridges = "counterfoil.sdk.commands.bridges:bridges", "Show and register bridges, and change their states."
bundle = "counterfoil.sdk.commands.bundle:bundle", "Write the schemas of a registry to one file, for use without it."
