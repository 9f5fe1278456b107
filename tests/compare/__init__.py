"""Compare what two commits make of the pods of many manifests: `make compare`."""
