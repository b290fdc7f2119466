"""What a registry gets and says: registration, plans, publication, verdicts on live versions, usage."""
