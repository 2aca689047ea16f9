"""The program: `lading`, `kubectl lading` and `python -m lading`."""

import sys

_INTERRUPTED = 130  # as ExitCode, which needs click


def main() -> None:
    """Ctrl-C prints no traceback, not even while click is imported."""
    try:
        from lading.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
