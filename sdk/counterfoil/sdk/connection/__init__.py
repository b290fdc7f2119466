"""How requests reach a registry: one after another over its URLs, with credentials, TLS and retries, by httpx."""
