"""What is checked before a run: topics, and a trial with sampled records."""
