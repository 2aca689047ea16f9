"""`python3 -m tests.real.bed.up`: a real cluster by hand, until Ctrl-C."""

import signal

from tests.real.bed import cluster


def main() -> None:
    # The same way out for all, also where a shell has us ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    print("starting a cluster ...", flush=True)
    try:
        with cluster.cluster() as running:
            print(f"export KUBECONFIG={running.kubeconfig}")
            print(f"registry      {running.registry.host} (plain HTTP)")
            print(f"CRI endpoint  {running.runtime.endpoint}")
            print("Ctrl-C stops it and removes everything.", flush=True)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
