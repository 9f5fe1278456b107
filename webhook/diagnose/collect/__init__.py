"""Read from the cluster what `explain` and `status` judge."""
