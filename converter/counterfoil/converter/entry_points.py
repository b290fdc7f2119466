"""The room's commands: where each one is, and its line in ``counterfoil --help``. Nothing is imported."""

bridge = "counterfoil.converter.cli:bridge", "Carry records from one topic and schema to another, by a plan."
