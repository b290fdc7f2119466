"""Files with a finding whose place is known, in each language."""
