"""Issue certificates and serve them from files; knows nothing of Kubernetes or of ``webhook``.

``issue`` and ``throwaway`` load the cryptography library; ``serving`` needs only the standard library, so that a server stays small.
"""
