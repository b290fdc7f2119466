"""What is checked after a run: every record of the source against the outputs."""
