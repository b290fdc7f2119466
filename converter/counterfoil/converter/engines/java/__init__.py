"""The engine ``java``: a plan as one generated Java class that Spark runs, from bytes to bytes."""
