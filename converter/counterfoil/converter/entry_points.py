"""The room's commands: where each is, its line and its group in ``counterfoil --help``. Nothing is imported."""

bridge = (
    "counterfoil.converter.cli:bridge",
    "Run a bridge of a file: plan, check, run, verify it (a Spark job).",
    "Bridges",
)
sketch = "counterfoil.converter.cli:sketch", "Summarize the records of a topic, for check --sketch.", "Check"
