"""Know what admission asks of a cluster."""
