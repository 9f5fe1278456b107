"""Talk to the API server: credentials, requests, objects and lists read, list and watch, Lease."""
