"""Records of topics for commands: read and printed, or made of printed lines and written."""
