"""The status of MachineConfigPools: every feature contributes facts, one writer writes."""
