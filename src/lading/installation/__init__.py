"""Puts the kinds that Lading owns into a cluster, and leaves those of others alone."""
