{{- define "lading.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "lading.agentNamespace" -}}
{{ .Values.agent.namespace | default .Release.Namespace }}
{{- end -}}

{{- define "lading.featureGates" -}}
{{- $gates := list -}}
{{- range $name, $value := . }}{{ $gates = append $gates (printf "%s=%v" $name $value) }}{{ end -}}
{{ join "," $gates }}
{{- end -}}

{{- define "lading.crds.hook" }}
  name: lading-crds
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "{{ . }}"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "lading.podMonitor" }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: lading-{{ .component }}
  namespace: {{ .namespace }}
  {{- with .root.Values.monitoring.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: lading
      app.kubernetes.io/component: {{ .component }}
  podMetricsEndpoints:
    - port: metrics
      interval: {{ .root.Values.monitoring.interval }}
{{- end }}
