"""Hold against a cluster what its profiles ask for: the networks that exist, and the devices that its nodes offer."""
