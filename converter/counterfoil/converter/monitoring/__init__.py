"""What is done with the states of a run: displays, a history, a topic, the registry, Prometheus."""
