"""Reports: one module per format, each a function from a report to text. Nothing is written here."""
