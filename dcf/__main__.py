"""`python -m dcf` is the command line."""

from dcf.cli.app import main

if __name__ == "__main__":
    main()
