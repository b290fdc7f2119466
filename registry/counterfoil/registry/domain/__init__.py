"""What a registry is, without any I/O: versions, config, modes, content, merging, equivalence."""
