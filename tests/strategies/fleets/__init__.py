"""Generated fleets of applications, and a judge of their deployments that decodes records; the product is not used."""
