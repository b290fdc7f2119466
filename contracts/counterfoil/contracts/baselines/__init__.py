"""Where earlier versions come from: git, files, a registry. The only part of the contracts room that reads anything."""
