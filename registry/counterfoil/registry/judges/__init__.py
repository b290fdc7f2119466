"""Processes that carry out long judgements of schemas, so that they can be ended and their memory is limited."""
