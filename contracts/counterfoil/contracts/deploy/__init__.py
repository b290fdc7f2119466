"""The requests to a registry: registration, plans, publication, verdicts on live versions, usage."""
