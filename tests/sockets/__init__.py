"""The real server process on loopback."""
