"""Find all faults of a profile by the definition of FabricProfile, in the words of the API server.

Only `definition` is for everybody: what checks needs the extra ``validate`` of the package.
"""

from webhook.validate.definition import definition, spec_schema

__all__ = ["definition", "spec_schema"]
