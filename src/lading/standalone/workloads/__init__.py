"""DaemonSets, Jobs, CronJobs and pods on a standalone cluster, as far as the features use them."""
