"""Look at an installation and say what is wrong with it: profiles, networks, nodes, certificates, privileges, quotas."""
