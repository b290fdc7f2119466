"""Example values of schemas, in the JSON form of their language, narrowed by what contracts promise."""
