"""`counterfoil lint`: whether contract, product, project and schema files are valid by themselves."""
