"""The engine ``sql``: conversion plans as Spark's own expressions."""
