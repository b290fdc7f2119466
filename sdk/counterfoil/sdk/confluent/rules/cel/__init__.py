"""The executor of rules of the type CEL."""
