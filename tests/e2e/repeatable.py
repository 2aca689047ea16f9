"""Chance that can be had again: its seed is printed, as a failed test shows, and may be given."""

import os
import random
import secrets

SEED_VARIABLE = "LADING_TEST_SEED"


def rng() -> random.Random:
    seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbits(32))
    print(f"{SEED_VARIABLE}={seed} chooses the same moments again")
    return random.Random(seed)
