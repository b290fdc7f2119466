"""Typed models: classes as the values of serializers, their schemas, and the conversion from and to plain values."""
