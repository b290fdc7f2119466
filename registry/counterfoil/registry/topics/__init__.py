"""What is in topics, as those who read them report it: sketches and statistics."""
