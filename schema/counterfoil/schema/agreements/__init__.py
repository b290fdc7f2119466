"""What producers promise and consumers expect: contract files (ODCS) and product files (ODPS), with line and column.

The package is not named after contracts, since a room has that name.
"""
