"""machineconfiguration.openshift.io: which images a pool of nodes must hold, and how far it is."""
