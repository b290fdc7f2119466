"""JSON text with positions, read leniently and printed as Jackson prints it."""
