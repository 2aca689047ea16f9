"""A thin client of the Kubernetes API, and the ways to reach a server that users have.

`connect.connect` finds the configuration and gives a `client.KubeClient`; informers, queues and
elections are in `lading.loop`.
"""
