"""The commands for subjects, config, modes, bundles and bridges; options and output that all commands share."""
