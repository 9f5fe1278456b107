"""Issue certificates and serve them from files; knows nothing of Kubernetes or of ``webhook``.

``issue`` and ``throwaway`` load the cryptography library; ``serving`` needs only the standard
library, so that a server stays small.
"""

CERTIFICATE = "tls.crt"
KEY = "tls.key"
AUTHORITY = "ca.crt"
"""The files of a directory, and the keys of the Secret, of what is served and trusted."""
