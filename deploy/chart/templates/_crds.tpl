{{- define "lading.crds.rules" }}
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    verbs: [create]
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    resourceNames:
      - imagepruners.imageregistry.operator.openshift.io
      - images.longhorn.io
      - machineconfignodes.machineconfiguration.openshift.io
      - machineconfigpools.machineconfiguration.openshift.io
      - machineconfigurations.operator.openshift.io
      - machinesetbootimagehistories.machineconfiguration.openshift.io
      - pinnedimagesets.machineconfiguration.openshift.io
      - settings.longhorn.io
    verbs: [get, patch]
{{- end }}
