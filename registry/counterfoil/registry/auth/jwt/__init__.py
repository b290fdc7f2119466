"""JWTs of OIDC issuers: their form, the keys of issuers, claims, and the principal that they name."""
