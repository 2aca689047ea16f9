"""Reads objects in Kubernetes' binary form, which kubectl's `create` commands send."""
