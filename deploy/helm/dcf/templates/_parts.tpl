{{- define "dcf.name" -}}
{{- if contains "dcf" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-dcf" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "dcf.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- /* Labels that never change, by which Services and Deployments select. Argument: dict "root" "part". */ -}}
{{- define "dcf.selector" -}}
app.kubernetes.io/name: dcf
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "dcf.labels" -}}
{{ include "dcf.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* Of a pod: no root, no rights, no access to the cluster. */ -}}
{{- define "dcf.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "dcf.selector" . | nindent 8 }}
{{- end }}

{{- define "dcf.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* Who speaks to Redis: the URL, and the certificate authority. */ -}}
{{- define "dcf.redis.env" -}}
- name: REDIS_URL
  valueFrom:
    secretKeyRef: {name: {{ required "redis.secret: name the Secret that has the URL of Redis" .Values.redis.secret }}, key: {{ .Values.redis.key }}}
{{- end }}

{{- define "dcf.env" -}}
{{- range $name, $value := . }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "dcf.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- with .Values.redis.authority }}
- {name: redis-authority, mountPath: /etc/dcf/redis, readOnly: true}
{{- end }}
{{- end }}

{{- define "dcf.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- with .Values.redis.authority }}
- name: redis-authority
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}
