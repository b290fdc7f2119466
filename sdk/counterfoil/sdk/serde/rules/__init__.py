"""The rules of schemas, as serializers and deserializers run them: domain, encoding and migration rules."""
