"""`counterfoil test`: records of a topic, or of a file, against what a contract promises."""
