"""The methods by which callers prove who they are."""
