"""The registry: an HTTP service that stores and judges schemas."""
