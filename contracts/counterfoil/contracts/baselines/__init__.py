"""What is compared: the files that are checked, and their earlier versions in git, a folder or a registry."""
