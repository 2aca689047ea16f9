"""Everything in one process: API server, registry, nodes with their runtimes, controllers."""
