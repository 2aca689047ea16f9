"""The inventory of a registry, from its API, its storage or ImageStreams, and its graph."""
