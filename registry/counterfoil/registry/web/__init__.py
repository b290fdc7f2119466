"""The web pages under ``/ui``: requests become the values that the room ``pages`` prints."""
