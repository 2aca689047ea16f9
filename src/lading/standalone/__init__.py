"""One process that runs everything: servers, controllers and agents on this machine."""
