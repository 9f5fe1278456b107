"""Judge, from what was read of a cluster, which jobs train without the fabric and what a profile would make of them."""
