"""Contracts: what applications publish, where they are live, and what is reported of them."""
