"""The controller: assigns sets to pools, counts nodes, writes the status of sets."""
