"""The operator of the pruner: from an ImagePruner to its CronJob, and back to its status."""
