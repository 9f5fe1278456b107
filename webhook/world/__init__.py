"""Answer what admission asks about the cluster: from watches, look-ups, or files."""
