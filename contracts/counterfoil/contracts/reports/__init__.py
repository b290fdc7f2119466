"""The reports of the commands about schemas and contracts: as text, as JSON, and for any writer."""
