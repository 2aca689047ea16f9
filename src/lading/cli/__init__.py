"""The commands a person types. Heavy imports happen inside commands, so that `--help` is quick."""
