"""The run of a bridge: read, convert and write, its checkpoint, and its state at each moment."""
