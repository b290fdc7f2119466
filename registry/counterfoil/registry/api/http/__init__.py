"""The handling around every request: headers, paths, bodies, errors, limits."""
