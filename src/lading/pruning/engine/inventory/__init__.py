"""What a registry holds, read from its API, its storage or ImageStreams, and as a graph."""
