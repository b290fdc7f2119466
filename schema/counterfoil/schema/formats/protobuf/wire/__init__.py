"""The policies WIRE and WIRE_JSON."""
