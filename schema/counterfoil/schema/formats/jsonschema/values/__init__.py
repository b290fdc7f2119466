"""The maker of values: one value, or the proof that there is none, and many values that look like what is asked."""
