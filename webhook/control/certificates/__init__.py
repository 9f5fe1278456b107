"""Keep the certificates: carry out what ``certs.rotation`` decides, in the Secret and in the webhook configuration's caBundle."""
