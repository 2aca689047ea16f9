"""The Deployment and the DaemonSets of the Helm chart, made of those of `deploy/`. Pure.

`deploy/base` and the overlays of the runtimes say what a pod is; here is only which of it the
chart's values change.
"""

import copy
from typing import Any

from lading.wiring.chart_templates import Document, each, merged, optional, show, text

RUNTIMES = ("containerd", "cri-o")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_PULL_SECRETS = "pull-secrets"
_PULL_SECRETS_FOLDER = "/etc/lading/pull-secrets"
_GATES = {
    "name": "LADING_FEATURE_GATES",
    "value": show('include "lading.featureGates" $.Values.featureGates | quote'),
}


def controller(base: Document) -> str:
    document = copy.deepcopy(base)
    document["metadata"]["namespace"] = show("$.Release.Namespace")
    document["spec"]["replicas"] = show("$.Values.controller.replicas")
    pod = document["spec"]["template"]["spec"]
    _set_pod_values(pod, "$", "controller")
    (container,) = pod["containers"]
    _set_container_values(container, "$", "controller")
    return text(document)


def agent(base: Document, overlay: Document, runtime: str) -> str:
    """A named template: one DaemonSet for each pool of nodes is made of it."""
    document = merged(base, overlay)
    metadata, spec = document["metadata"], document["spec"]
    metadata["name"] = show('printf "lading-agent%s" $.suffix')
    metadata["namespace"] = show('include "lading.agentNamespace" $.root')
    for labels in (spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]):
        labels["lading.dev/node-pool"] = optional("$.pool.name")
    spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = show(
        "$.root.Values.agent.maxUnavailable"
    )
    pod = spec["template"]["spec"]
    _set_pod_values(pod, "$.root", "agent")
    pod["nodeSelector"] = optional(
        "merge dict $.pool.nodeSelector $.root.Values.agent.nodeSelector"
    )
    (container,) = pod["containers"]
    _set_container_values(container, "$.root", "agent")
    _set_agent_arguments(container)
    _set_pull_secrets(pod, container)
    _set_folders(pod, container, runtime)
    name = f"lading.agent.{runtime}"
    return f'{{{{- define "{name}" }}}}\n{text(document)}{{{{- end }}}}\n'


def _set_pod_values(pod: Document, root: str, component: str) -> None:
    values = f"{root}.Values"
    pod["priorityClassName"] = optional(f"{values}.{component}.priorityClassName")
    pod["nodeSelector"] = optional(f"{values}.{component}.nodeSelector")
    pod["tolerations"] = optional(f"{values}.{component}.tolerations")
    pod["imagePullSecrets"] = optional(f"{values}.imagePullSecrets")


def _set_container_values(container: Document, root: str, component: str) -> None:
    values = f"{root}.Values"
    container["image"] = show(f'include "lading.image" {root}')
    container["imagePullPolicy"] = optional(f"{values}.image.pullPolicy")
    container["resources"] = optional(f"{values}.{component}.resources")
    gates = {**_GATES, "value": _GATES["value"].replace("$.Values", values)}
    container["env"] = [*container["env"], gates]
    container["args"] = [
        *container["args"],
        each(f"{values}.{component}.extraArgs", "{{ $one | quote }}"),
    ]


def _set_agent_arguments(container: Document) -> None:
    """Its ports, because it shares the network of the node, and the namespace of the controller."""
    port = "$.root.Values.agent.metricsPort"
    replaced = ("--metrics-port=", "--namespace=")
    arguments = [one for one in container["args"] if not one.startswith(replaced)]
    container["args"] = [
        arguments[0],
        show(f'printf "--metrics-port=%v" {port}'),
        show('printf "--metrics-host=%s" $.root.Values.agent.metricsHost'),
        show('printf "--kubelet-port=%v" $.root.Values.agent.kubeletPort'),
        show('printf "--namespace=%s" $.root.Release.Namespace'),
        *arguments[1:],
    ]
    for opened in container.get("ports", ()):
        opened["containerPort"] = show(port)
    for probe in _PROBES:
        container[probe]["httpGet"]["port"] = show(port)


def _set_pull_secrets(pod: Document, container: Document) -> None:
    names = "$.root.Values.agent.pullSecrets"
    folder = _PULL_SECRETS_FOLDER + "/{{ $one }}"
    container["args"] = [
        each(names, f"--pull-secrets={folder}") if one.startswith("--pull-secrets=") else one
        for one in container["args"]
    ]
    volume = "pull-secrets-{{ $index }}"
    container["volumeMounts"] = [
        *_without_pull_secrets(container["volumeMounts"]),
        each(names, f'{{name: "{volume}", mountPath: "{folder}", readOnly: true}}'),
    ]
    secret = 'secret: {secretName: "{{ $one }}", optional: true}'
    pod["volumes"] = [
        *_without_pull_secrets(pod["volumes"]),
        each(names, f'{{name: "{volume}", {secret}}}'),
    ]


def _without_pull_secrets(named: list[Document]) -> list[Any]:
    return [one for one in named if one["name"] != _PULL_SECRETS]


def _set_folders(pod: Document, container: Document, runtime: str) -> None:
    """The folders of the host, by the names of their volumes; the socket has its name in one."""
    for volume in pod["volumes"]:
        if isinstance(volume, dict) and volume["name"] != "state":
            volume["hostPath"]["path"] = show(_folder(runtime, volume["name"]))
    for mount in container["volumeMounts"]:
        if isinstance(mount, dict) and mount["name"] != "state":
            mount["mountPath"] = show(f'printf "/host%s" {_folder(runtime, mount["name"])}')
    for variable in container["env"]:
        if variable["name"] == "CONTAINER_RUNTIME_ENDPOINT":
            socket = variable["value"].rpartition("/")[2]
            folder = _folder(runtime, "runtime-socket")
            variable["value"] = show(f'printf "unix:///host%s/{socket}" {folder}')


def _folder(runtime: str, volume: str) -> str:
    return f'(index $.root.Values.folders "{runtime}" "{volume}")'
