"""All commands of `lading` that run something, by their names."""

from lading.cli import reference

COMMANDS = reference.commands()
