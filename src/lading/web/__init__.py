"""The dashboard: one page about the life of images in a cluster, served on this machine."""
