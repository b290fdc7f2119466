"""Many cases as one test: how deep a run goes, and small inputs that take long."""
