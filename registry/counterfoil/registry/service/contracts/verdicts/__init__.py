"""What is computed of contracts: who offers and reads what, the pairs of both, and verdicts on changes."""
