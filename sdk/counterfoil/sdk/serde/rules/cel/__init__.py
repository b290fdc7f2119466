"""Rules in CEL, Google's Common Expression Language: the types CEL and CEL_FIELD, and inline rules."""
