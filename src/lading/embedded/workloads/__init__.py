"""DaemonSets, Jobs, CronJobs and pods of a standalone cluster."""
