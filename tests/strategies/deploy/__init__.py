"""What is in ``deploy/``, run as an engine, systemd or GitHub would run it."""
