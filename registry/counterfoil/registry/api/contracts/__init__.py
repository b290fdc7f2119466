"""``/contracts/v1``: contracts, applications, deployments, and verdicts."""
