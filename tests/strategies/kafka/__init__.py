"""Topics of tests, and listeners of the broker that demand a login or a certificate."""
