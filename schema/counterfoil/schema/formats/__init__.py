"""The schema languages, each behind one protocol."""
