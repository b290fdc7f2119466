"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

bridge = "counterfoil.converter.cli:bridge", "Copy records to another topic and schema, converted by a plan.", "Bridges"
sketch = "counterfoil.converter.cli:sketch", "Summarize the records of a topic, for check --sketch.", "Check"
