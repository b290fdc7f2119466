"""The room's commands: where each one is, and its line in ``counterfoil --help``. Nothing is imported."""

bridge = "counterfoil.converter.cli:bridge", "Copy records to another topic and schema, converted by a plan."
