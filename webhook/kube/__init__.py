"""Know the cluster: its API server by watches and bounded look-ups, or files that stand for it."""
