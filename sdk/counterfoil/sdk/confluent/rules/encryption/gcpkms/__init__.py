"""The driver of Google Cloud KMS."""
