"""Hold sample data that runs as it is: profiles, networks, and the pods of a TorchX job."""
