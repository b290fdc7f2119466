"""The engines, which convert the values of records: Java classes, and the reference evaluator."""
