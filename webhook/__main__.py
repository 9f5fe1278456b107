"""Run the command line with ``python -m webhook``."""

from webhook.cli import main

if __name__ == "__main__":
    main()
