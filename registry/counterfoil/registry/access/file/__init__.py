"""The access file, and the other files of administrators."""
