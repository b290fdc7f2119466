"""The routes of associations."""
