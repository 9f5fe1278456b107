"""Read from the cluster all that `check` and `explain` judge: the only part of diagnose that does I/O."""
