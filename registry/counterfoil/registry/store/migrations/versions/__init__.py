"""One module a format, in order; what was released is never changed again."""
