"""What people and programs see of a run: displays, a history on disk, reports, measures, and its status."""
