"""The end-to-end suite of network-resources-injector, run against fabric-injector: `make peer`."""
