"""Hold the files of ``fabric-injector page``, and the application that serves them."""
