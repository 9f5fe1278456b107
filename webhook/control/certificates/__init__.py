"""Keep the certificates: write what ``certs.rotation`` decides into the Secret and the webhook configuration's caBundle."""
