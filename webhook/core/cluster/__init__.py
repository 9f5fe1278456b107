"""Hold against a cluster what its profiles ask for: networks, and devices of its nodes."""
