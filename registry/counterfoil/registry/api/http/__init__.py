"""What surrounds every request: headers, paths, bodies, errors, limits."""
