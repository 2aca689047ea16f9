"""The first process of a sandbox: gives it a host of its own, then only waits to be killed.

Runtimes and the kubelet have folders that no option moves (/run/containerd/s, /var/lib/cni,
/var/log/containers). Own ones over them keep the host clean and the sandboxes apart, and let every
runtime be where its packages put it. They are below the folder in the only argument.
"""

import pathlib
import signal
import subprocess
import sys

OWN_FOLDERS = ("/run", "/var/lib", "/var/log")
OWN_CONFIGURATION = ("/etc/containerd", "/etc/containers", "/etc/crio")


def main() -> None:
    host_root = pathlib.Path(sys.argv[1])
    # As systemd has it: pods may want to see what is mounted later. The sandbox's own only.
    _mount("--make-rshared", "/")
    for folder in OWN_FOLDERS:
        _mount("--bind", _made(host_root, folder), folder)
    _write_beside_the_hosts("/etc", host_root.with_name("etc"))
    for folder in OWN_CONFIGURATION:
        pathlib.Path(folder).mkdir(exist_ok=True)
        _mount("--bind", _made(host_root, folder), folder)
    # Orphans of the sandbox become our children; ignoring their end lets the kernel reap them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        signal.pause()


def _made(host_root: pathlib.Path, folder: str) -> str:
    path = host_root / folder.lstrip("/")
    path.mkdir(parents=True)
    return str(path)


def _write_beside_the_hosts(folder: str, changes: pathlib.Path) -> None:
    """The host's files are there, and what is written among them is not written on the host."""
    upper, work = changes / "changed", changes / "work"
    for each in (upper, work):
        each.mkdir(parents=True)
    options = f"lowerdir={folder},upperdir={upper},workdir={work}"
    _mount("-t", "overlay", "-o", options, "lading-real", folder)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    main()
