"""The rules of schemas, as serializers and deserializers run them: domain, encoding and migration rules.

``protocol`` is what an executor of a type of rules and an action implement; ``settings`` finds them; ``stages``
compiles the rules of a schema into functions that plans hold. A schema without rules has none of it.
"""
