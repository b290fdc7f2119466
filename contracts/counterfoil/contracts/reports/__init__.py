"""Reports: one module per format, each a function that turns a report into text. Nothing is written to files here."""
