"""The scenes of `lading demo`."""
