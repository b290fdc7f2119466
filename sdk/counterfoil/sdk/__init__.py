"""For producers and consumers: the registry client, serializers, adapters."""
