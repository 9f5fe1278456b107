"""Look at all jobs of a cluster at once: how each is, by what `explain` says of it first."""
