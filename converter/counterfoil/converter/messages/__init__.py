"""Messages of each language: their bytes as the base values of plans, and back."""
