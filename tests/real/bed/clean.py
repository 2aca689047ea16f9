"""`python3 -m tests.real.bed.clean`: remove what killed runs left on this machine."""

from tests.real.bed import leftovers


def main() -> None:
    removed = leftovers.remove_dead()
    for folder in removed:
        print(f"removed {folder} and all it had started")
    print(f"{len(removed)} dead sandboxes removed")


if __name__ == "__main__":
    main()
