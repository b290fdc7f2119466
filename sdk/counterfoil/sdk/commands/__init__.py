"""The daily commands of a registry's users, each a thin layer over a call of the client."""
