"""`python -m openrebench` is `re-bench`."""

from openrebench.cli import main

if __name__ == "__main__":
    main()
