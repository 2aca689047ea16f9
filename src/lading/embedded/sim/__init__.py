"""The whole system under one seed: real processes, virtual time, drawn faults, checked promises."""
