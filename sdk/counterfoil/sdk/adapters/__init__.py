"""One module for each Kafka client or stream framework: what it needs besides the serializers themselves.

A module imports its framework, which is an extra of its name; nothing else imports these modules.
"""
