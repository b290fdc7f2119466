"""Whether one schema accepts all that another accepts: proved, refuted by a value, or not decided."""
