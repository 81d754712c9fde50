{{/* The command line of the planner: every option that a value stands for. */}}
{{- define "numaplace.planner.arguments" -}}
{{- $cluster := .Values.cluster }}
{{- $planner := .Values.planner -}}
- planner
- --listen=[::]:{{ $planner.port }}
- --advertise=$(POD_IP):{{ $planner.port }}
- --name=$(POD_NAME)
- --lease={{ .Release.Namespace }}/numaplace-planner
- --lease-duration={{ $planner.leaseSeconds }}
- --outstanding={{ $planner.outstanding }}
- --silent={{ $planner.silentSeconds }}
- --stuck={{ $planner.stuckSeconds }}
- --aside={{ $planner.asideSeconds }}
- --release-grace={{ $planner.releaseGraceSeconds }}
- --gpu-resource={{ $cluster.gpuResource }}
- --foreign-gpus={{ join "," $cluster.foreignGpuResources }}
- --hca-resource={{ $cluster.hcaResource }}
- --hcas={{ $cluster.hcas }}
- --enable-label={{ $cluster.enableLabel }}
- --sharing={{ join "," $cluster.sharingContainers }}
{{- if $cluster.podIpRdma }}
- --pod-ip-rdma
{{- end }}
{{- if $planner.spread }}
- --spread
{{- end }}
{{- if $planner.holdBack }}
- --hold-back
{{- end }}
{{- range $part, $weight := $planner.weights }}
- --weight={{ $part }}={{ $weight }}
{{- end }}
{{- with $planner.extender }}
{{- if .enabled }}
- --extender=[::]:{{ .port }}
- --extender-deadline={{ .deadlineSeconds }}
{{- if .ungateAfterSeconds }}
- --ungate-after={{ .ungateAfterSeconds }}
{{- end }}
{{- range .schedulers }}
- --extender-for={{ . }}
{{- end }}
{{- if .pins }}
- --extender-pins
{{- end }}
{{- if .tlsSecret }}
- --extender-tls
- /tls/tls.crt
- /tls/tls.key
{{- end }}
{{- if .clientAuthority }}
- --extender-clients=/tls/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- if $planner.verbose }}
- --verbose
{{- end }}
{{- end }}
