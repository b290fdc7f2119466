"""Regular expressions of schemas, as ECMA 262 defines them: reading, searching in bounded time, matching texts."""
