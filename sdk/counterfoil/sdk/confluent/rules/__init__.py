"""The names of confluent-kafka's executors, actions and KMS drivers, whose registration is not needed here.

This SDK finds its own executors and drivers of key management services where they are installed. Programs that register
Confluent's classes move by their import lines: each class has ``register``, and its instances may be in a
``RuleRegistry``; they stand for the executor, the action or the driver of this SDK.
"""
