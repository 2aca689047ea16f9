"""The embedded Kubernetes API server: one core, in process or behind HTTP."""
