"""``python -m service.cli`` is ``hedgerow``: how the supervisor starts its children."""

from service.cli.main import run

if __name__ == "__main__":
    run()
