"""The audit: its events, where they are kept, and how they are verified."""
