"""The room's commands: the location of each, and its line in ``counterfoil --help``. Nothing is imported."""

bridge = "counterfoil.converter.cli:bridge", "Copy records to another topic and schema, converted by a plan."
sketch = "counterfoil.converter.cli:sketch", "Summarize the records of a topic, for check --sketch."
