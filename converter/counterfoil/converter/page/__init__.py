"""The report of a bridge as one HTML page that needs no network: ``bridge report``."""
