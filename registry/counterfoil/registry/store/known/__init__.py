"""What a server remembers of the store, and a storage made of that alone."""
