"""JSON text: lenient parsing with positions, and printing in the format of Jackson."""
