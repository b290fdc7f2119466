"""Contract tests: the check of a change, and what is done with contracts, records and a registry."""
