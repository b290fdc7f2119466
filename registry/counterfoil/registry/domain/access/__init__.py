"""Who may do what: principals, operations, resources, rules, and the decision. Pure functions and values."""
