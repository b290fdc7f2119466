"""The values and rules of a registry, without I/O: versions, config, modes, content, merging, equivalence."""
