"""The state of a registry from the files of a repository: what has to change, and the changes."""
