"""The embedded servers: a Kubernetes API, a CRI image service, an OCI registry."""
