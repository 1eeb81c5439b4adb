"""``python -m corpuscle`` is the same as ``corpuscle``."""

from corpuscle.cli.main import run

if __name__ == "__main__":
    run()
