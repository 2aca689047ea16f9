{{- define "lading.agent.cri-o" }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ printf "lading-agent%s" $.suffix }}
  namespace: {{ include "lading.agentNamespace" $.root }}
  labels:
    app.kubernetes.io/name: lading
    app.kubernetes.io/component: agent
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: lading
      app.kubernetes.io/component: agent
      {{- with $.pool.name }}
      lading.dev/node-pool:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  updateStrategy:
    rollingUpdate:
      maxUnavailable: {{ $.root.Values.agent.maxUnavailable }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: lading
        app.kubernetes.io/component: agent
        {{- with $.pool.name }}
        lading.dev/node-pool:
          {{- toYaml . | nindent 10 }}
        {{- end }}
    spec:
      serviceAccountName: lading-agent
      {{- with $.root.Values.agent.priorityClassName }}
      priorityClassName:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      terminationGracePeriodSeconds: 10
      hostNetwork: true
      dnsPolicy: Default
      {{- with merge dict $.pool.nodeSelector $.root.Values.agent.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.root.Values.agent.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
      - name: agent
        image: {{ include "lading.image" $.root }}
        args:
        - agent
        - {{ printf "--metrics-port=%v" $.root.Values.agent.metricsPort }}
        - {{ printf "--metrics-host=%s" $.root.Values.agent.metricsHost }}
        - {{ printf "--kubelet-port=%v" $.root.Values.agent.kubeletPort }}
        - {{ printf "--namespace=%s" $.root.Release.Namespace }}
        - --host-root=/host
        {{- range $index, $one := $.root.Values.agent.pullSecrets }}
        - --pull-secrets=/etc/lading/pull-secrets/{{ $one }}
        {{- end }}
        {{- range $index, $one := $.root.Values.agent.extraArgs }}
        - {{ $one | quote }}
        {{- end }}
        env:
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        - name: CONTAINER_RUNTIME_ENDPOINT
          value: {{ printf "unix:///host%s/crio.sock" (index $.root.Values.folders "cri-o" "runtime-socket") }}
        - name: LADING_FEATURE_GATES
          value: {{ include "lading.featureGates" $.root.Values.featureGates | quote }}
        ports:
        - name: metrics
          containerPort: {{ $.root.Values.agent.metricsPort }}
        startupProbe:
          httpGet:
            host: 127.0.0.1
            path: /healthz
            port: {{ $.root.Values.agent.metricsPort }}
          periodSeconds: 1
          failureThreshold: 60
        livenessProbe:
          httpGet:
            host: 127.0.0.1
            path: /healthz
            port: {{ $.root.Values.agent.metricsPort }}
          timeoutSeconds: 5
        readinessProbe:
          httpGet:
            host: 127.0.0.1
            path: /readyz
            port: {{ $.root.Values.agent.metricsPort }}
          timeoutSeconds: 5
        {{- with $.root.Values.agent.resources }}
        resources:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        securityContext:
          runAsUser: 0
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop:
            - ALL
          seccompProfile:
            type: RuntimeDefault
          seLinuxOptions:
            type: spc_t
        volumeMounts:
        - name: state
          mountPath: /var/lib/lading
        - name: runtime-socket
          mountPath: {{ printf "/host%s" (index $.root.Values.folders "cri-o" "runtime-socket") }}
          readOnly: true
        - name: runtime-configuration
          mountPath: {{ printf "/host%s" (index $.root.Values.folders "cri-o" "runtime-configuration") }}
        - name: registry-configuration
          mountPath: {{ printf "/host%s" (index $.root.Values.folders "cri-o" "registry-configuration") }}
          readOnly: true
        - name: runtime-images
          mountPath: {{ printf "/host%s" (index $.root.Values.folders "cri-o" "runtime-images") }}
          readOnly: true
          mountPropagation: HostToContainer
        {{- range $index, $one := $.root.Values.agent.pullSecrets }}
        - {name: "pull-secrets-{{ $index }}", mountPath: "/etc/lading/pull-secrets/{{ $one }}", readOnly: true}
        {{- end }}
        {{- with $.root.Values.image.pullPolicy }}
        imagePullPolicy:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      volumes:
      - name: state
        hostPath:
          path: /var/lib/lading
          type: DirectoryOrCreate
      - name: runtime-socket
        hostPath:
          path: {{ (index $.root.Values.folders "cri-o" "runtime-socket") }}
          type: Directory
      - name: runtime-configuration
        hostPath:
          path: {{ (index $.root.Values.folders "cri-o" "runtime-configuration") }}
          type: DirectoryOrCreate
      - name: registry-configuration
        hostPath:
          path: {{ (index $.root.Values.folders "cri-o" "registry-configuration") }}
          type: DirectoryOrCreate
      - name: runtime-images
        hostPath:
          path: {{ (index $.root.Values.folders "cri-o" "runtime-images") }}
          type: Directory
      {{- range $index, $one := $.root.Values.agent.pullSecrets }}
      - {name: "pull-secrets-{{ $index }}", secret: {secretName: "{{ $one }}", optional: true}}
      {{- end }}
      hostPID: true
      {{- with $.root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
