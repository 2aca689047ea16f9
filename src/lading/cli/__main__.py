"""`python -m lading.cli`: the command line, without an installed `lading` program."""

from lading.cli.main import main

main()
