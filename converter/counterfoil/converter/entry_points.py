"""The room's commands: where each one is, and its line in ``counterfoil --help``. Importing this costs next to nothing."""

bridge = "counterfoil.converter.cli:bridge", "Carry records from one topic and schema to another, by a plan."
