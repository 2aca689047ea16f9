"""The status of MachineConfigPools, which every feature contributes to and one writer writes."""
