"""Who calls: passwords, tokens, JWTs, certificates and proxies, and the access file. No HTTP framework is used here."""
