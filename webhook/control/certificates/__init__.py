"""Keep the certificates: write what ``certs.rotation`` decides into the Secret and the caBundle of the webhook configurations."""
