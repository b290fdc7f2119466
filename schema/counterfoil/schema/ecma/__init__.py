"""Regular expressions of ECMA 262, which JSON Schema and contracts use: read, written for other packages, tried."""
