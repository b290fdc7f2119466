"""The vocabulary of the REST API: its values and their JSON, shared by the server and its clients."""
