"""The program: `lading`, `kubectl lading` and `python -m lading`."""

import gc
import os

_INTERRUPTED = 130  # as ExitCode, which needs the libraries
_GC_THRESHOLD = 100_000
"""What an import makes stays, so that looking for garbage meanwhile only takes time."""


def main() -> None:
    """Ctrl-C shows no trace while the libraries of the command line are loaded, too."""
    gc.set_threshold(_GC_THRESHOLD)
    try:
        from lading.cli.main import main as run

        run()
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
