"""Key management services, each in a module of its own that imports its library when it is first used."""
