"""Find all faults of a profile by the definition of FabricProfile.

What checks needs the extra ``validate`` of the package; only `definition` does not.
"""
