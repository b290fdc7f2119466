"""The routes of bridges."""
