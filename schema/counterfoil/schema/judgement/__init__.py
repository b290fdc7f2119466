"""Judgements of schemas: whether one may follow others, the reasons why not, and the values that prove them."""
