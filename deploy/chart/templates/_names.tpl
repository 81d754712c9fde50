{{/* Names are fixed: a cluster has one planner, one gate and one set of policies, whatever the release is called. */}}

{{- define "numaplace.labels" -}}
app.kubernetes.io/name: numaplace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "numaplace.planner.selector" -}}
app.kubernetes.io/name: numaplace
app.kubernetes.io/component: planner
{{- end }}

{{- define "numaplace.image" -}}
{{- $repository := required "image.repository: found nothing; expected the image that deploy/image/Containerfile makes, like registry.example/numaplace" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* What Pod Security "restricted" asks, and no more rights than a program without files needs. */}}
{{- define "numaplace.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "numaplace.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
