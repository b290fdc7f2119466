"""`counterfoil mcp`: read-only tools for language models."""
