"""The repository that an image is put into before it is deleted."""
