"""Keep the certificates: write what ``certs.rotation`` decides, into Secret and caBundle."""
