"""The driver of HashiCorp Vault."""
