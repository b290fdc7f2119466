"""HTTP: what happens around every request, and how routes are declared."""
