"""Makes the Jobs of CronJobs when they are due."""
