"""Contract files, and contracts as published, deployed and broken on purpose."""
