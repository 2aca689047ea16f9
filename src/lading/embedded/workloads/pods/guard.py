"""Becomes `lading ARGUMENTS`, in a process that the kernel ends together with its parent.

Runs as a module with the parent's process ID and the arguments. It first asks the kernel for a
signal when the parent dies, so that even `kill -9` of the parent leaves no process behind.
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
    if os.getppid() != int(parent):  # the parent died before the call above
        os._exit(PARENT_IS_GONE)
    code = "from lading.cli.main import main; main()"
    os.execv(sys.executable, [sys.executable, "-c", code, *rest])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
