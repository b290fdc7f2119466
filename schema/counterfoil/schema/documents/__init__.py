"""Documents that users write, such as settings and bridge files, as values with line and column."""
