"""The commands. `main` loads each one only when it runs, so `lading --help` is quick."""
