"""Everything that reaches out of the process: one folder or file per port."""
