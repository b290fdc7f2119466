"""Example values of schemas and contracts, and files that are made from them: `counterfoil generate`, `init`."""
