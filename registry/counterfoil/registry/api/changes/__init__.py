"""The change feed, as pages and as an event stream."""
