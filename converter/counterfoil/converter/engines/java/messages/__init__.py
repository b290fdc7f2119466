"""The engine ``java`` for messages of any language: read into Java objects, converted, and written."""
