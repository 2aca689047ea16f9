"""The scenes of `lading demo`, on the embedded servers and with the real controllers."""
