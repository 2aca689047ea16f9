"""One file per verb: each reads its request, does its one thing, and answers."""
