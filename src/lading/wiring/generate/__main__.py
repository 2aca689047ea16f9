"""`python -m lading.wiring.generate REPOSITORY`."""

import sys
from pathlib import Path

from lading.wiring import generate

if __name__ == "__main__":
    generate.write(Path(sys.argv[1]))
