"""The sides of a comparison: the files that are checked, and their earlier versions in git, a folder or a registry."""
