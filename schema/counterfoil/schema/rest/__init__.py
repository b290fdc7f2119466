"""The vocabulary of the REST API: its values and their JSON, shared by the server and its clients.

Source: the REST entities of Confluent Schema Registry's public API, 8.5.
"""
