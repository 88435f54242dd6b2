{{- define "hedgerow.name" -}}
{{- if contains "hedgerow" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-hedgerow" (.Release.Name | trunc 41 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "hedgerow.labels" -}}
app.kubernetes.io/name: hedgerow
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "hedgerow.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* What all pods share. Called with root, the resources, and what is special of the container. */}}
{{- define "hedgerow.pod" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 45
{{- with $values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .role }}
    image: {{ include "hedgerow.image" $root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args: {{- toYaml .command | nindent 6 }}
    envFrom:
      - configMapRef:
          name: {{ include "hedgerow.name" $root }}
    resources: {{- toYaml .resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - name: data
        mountPath: /data
      - name: redis-password
        mountPath: /run/secrets/redis
        readOnly: true
      {{- if $values.redis.caSecret.name }}
      - name: redis-authority
        mountPath: /run/secrets/redis-authority
        readOnly: true
      {{- end }}
    {{- with .special }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
volumes:
  - name: data
    emptyDir:
      sizeLimit: {{ $values.data.sizeLimit }}
  - name: redis-password
    secret:
      secretName: {{ required "redis.passwordSecret.name must name a Secret with the password of the store" $values.redis.passwordSecret.name }}
      defaultMode: 0440
      items:
        - key: {{ $values.redis.passwordSecret.key }}
          path: password
  {{- if $values.redis.caSecret.name }}
  - name: redis-authority
    secret:
      secretName: {{ $values.redis.caSecret.name }}
      defaultMode: 0440
      items:
        - key: {{ $values.redis.caSecret.key }}
          path: ca.pem
  {{- end }}
{{- end }}
