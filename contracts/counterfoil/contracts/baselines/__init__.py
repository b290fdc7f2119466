"""The sources of earlier versions: git, files, a registry. Only this part of the contracts room does I/O."""
