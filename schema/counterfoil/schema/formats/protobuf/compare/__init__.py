"""The pair walk of two Protobuf schemas, its rules, and the policy SOUND."""
