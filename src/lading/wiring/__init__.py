"""The composition root: the only package that constructs adapters.

Processes: manager, controller, agent (from features). What they and commands open: clusters, host,
machine, registries, clouds. Work of single commands: cluster_preview, planned_images, image_lists,
live_progress, prune, sweep. `generate` writes manifests and tables of the documentation.
"""
