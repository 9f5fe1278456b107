"""Judge a test of the fabric: which Jobs it takes, which nodes meet in which round, and what their ranks have found. Pure."""
