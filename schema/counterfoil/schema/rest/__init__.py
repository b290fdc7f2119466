"""The vocabulary of the REST API: its values, and their JSON, the same for the server and for its clients.

Source: the REST entities of Confluent Schema Registry's public API, 8.5.
"""
