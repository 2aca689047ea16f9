"""`python3 -m tests.real.setup [--only kube,registry]`: everything the real components need.

Standard library only: it runs before anything else is installed. A second run finds all of it
in the cache.
"""

import argparse
import sys
import time

from tests.real.setup import base_image, build, debian, errors, families


def main() -> int:
    arguments = _arguments()
    started = time.monotonic()
    try:
        debian.ensure(_say)
        for family in families.FAMILIES:
            if family.component in arguments.only:
                print(build.ensure(family, _say) / "bin")
        if families.BASE_IMAGE in arguments.only:
            print(base_image.ensure(_say))
    except errors.CannotRunHere as error:
        print(error, file=sys.stderr)
        return 1
    _say(f"real components are ready ({time.monotonic() - started:.1f} s)")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m tests.real.setup", description=__doc__)
    parser.add_argument(
        "--only",
        type=_components,
        default=families.COMPONENTS,
        metavar="WORD,WORD",
        help=f"some of {', '.join(families.COMPONENTS)}; packages of Debian always",
    )
    return parser.parse_args()


def _components(text: str) -> frozenset[str]:
    try:
        return families.with_needed(text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
