"""The program: `lading`, `kubectl lading` and `python -m lading`."""

import os

_INTERRUPTED = 130  # as ExitCode, which needs the libraries


def main() -> None:
    """Ctrl-C shows no trace while the libraries of the command line are loaded, too."""
    try:
        from lading.cli.main import main as run

        run()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
