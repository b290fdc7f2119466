"""Protobuf schemas compared by the rules of Confluent, of SOUND, and of WIRE and WIRE_JSON."""
