"""Messages of each language as the base values of plans, and back."""
