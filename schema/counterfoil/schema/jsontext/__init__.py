"""JSON texts of schemas: reading with positions, and printing as Jackson and Java do."""
