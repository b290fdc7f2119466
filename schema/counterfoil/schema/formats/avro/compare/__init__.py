"""The pair walk of two Avro schemas, its rules, and the policy SOUND."""
