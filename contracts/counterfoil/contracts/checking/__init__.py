"""The check of one schema file: its text, its earlier versions, the records of its topic."""
