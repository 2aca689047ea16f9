"""Managed boot images: new machines boot the OS release that the cluster runs."""
