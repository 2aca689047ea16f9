"""The Kubernetes types that Lading reads and owns, one module per API group."""
