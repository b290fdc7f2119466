"""Documents that users write, as values that know their line and column: settings, bridge files."""
