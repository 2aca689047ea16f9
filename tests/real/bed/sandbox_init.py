"""The first process of a sandbox: hides the host's state folders, then only waits to be killed.

Runtimes and the kubelet have folders that no option moves (/run/containerd/s, /var/lib/cni,
/var/log/containers). Empty ones over them keep the host clean and the sandboxes apart.
"""

import signal
import subprocess

HIDDEN_FOLDERS = ("/run", "/var/lib", "/var/log")


def main() -> None:
    for folder in HIDDEN_FOLDERS:
        subprocess.run(["mount", "-t", "tmpfs", "lading-real", folder], check=True)
    # Orphans of the sandbox become our children; ignoring their end lets the kernel reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
