"""Makes sure that Debian's chromium is installed, or says how to install it."""

import os
import shutil
import subprocess
import sys

from tests.browser.chromium import PROGRAM

_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core")
_SECONDS_MAX = 600.0


def main() -> int:
    if PROGRAM.exists():
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"{PROGRAM} is missing. Install it as root: {' '.join(_INSTALL)}", file=sys.stderr)
        return 1
    print("Installing chromium with apt-get ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("apt-get", "update"), _INSTALL):
        ended = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=_SECONDS_MAX
        )
        if ended.returncode != 0:
            print(f"{' '.join(words)} failed:\n{ended.stderr}", file=sys.stderr)
            return 1
    return 0 if PROGRAM.exists() else 1


if __name__ == "__main__":
    sys.exit(main())
