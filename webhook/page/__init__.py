"""Hold the files of the page that ``fabric-injector page`` serves."""
