"""Becomes `lading ARGUMENTS`, in a process that the kernel ends together with its parent.

Run as a module with the parent's process ID and the arguments. It asks for a signal at the death of
the parent before anything else, so that not even `kill -9` of the parent leaves a process behind.
"""

import ctypes
import os
import signal
import sys
from typing import NoReturn

PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
PARENT_IS_GONE = 137


def main(arguments: list[str]) -> NoReturn:
    parent, *rest = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != int(parent):  # it died before the kernel knew what we want
        os._exit(PARENT_IS_GONE)
    code = "from lading.cli.main import main; main()"
    os.execv(sys.executable, [sys.executable, "-c", code, *rest])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
