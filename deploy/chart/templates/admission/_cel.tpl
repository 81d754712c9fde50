{{/*
Pieces of CEL that several policies share. Each is total: whatever a Pod looks like, it has a value, since an
error would refuse a Pod that is none of ours. Keys and sentences are those of src/numaplace/model/keys.py and
src/numaplace/decide/admit; tests/cluster/test_rules_policy.py compares them.
*/}}

{{- define "numaplace.cel.annotations" -}}
object.metadata.?annotations.orValue({})
{{- end }}

{{/* Init containers first, as decide/admit reads them. */}}
{{- define "numaplace.cel.containers" -}}
(object.spec.?initContainers.orValue([]) + object.spec.?containers.orValue([]))
{{- end }}

{{/* Whether any container asks the resource; an extended resource is always limited. */}}
{{- define "numaplace.cel.asks" -}}
{{ include "numaplace.cel.containers" . }}.exists(c, c.?resources.?limits[?'{{ .resource }}'].orValue('0') != '0')
{{- end }}

{{/* A Pod that a scheduler of ours is still to place: not bound, and no mirror of a static Pod. */}}
{{- define "numaplace.cel.toBePlaced" -}}
- name: a-listed-scheduler-is-to-place-it
  expression: >-
    object.spec.?nodeName.orValue('') == '' &&
    !('kubernetes.io/config.mirror' in {{ include "numaplace.cel.annotations" . }}) &&
    object.spec.?schedulerName.orValue('default-scheduler') in {{ .Values.cluster.schedulers | toJson }}
{{- end }}

{{/* A Pod whose place the planner chooses: it has a placement key, or asks a resource of ours. */}}
{{- define "numaplace.cel.ours" -}}
- name: it-asks-for-a-place
  expression: >-
    ['cpuset-scheduler', 'scheduling.alibabacloud.com/numa-topology-spec',
    'scheduling.koordinator.sh/numa-topology-spec', 'numaplace.dev/policy', 'numaplace.dev/exclusive',
    'numaplace.dev/cpus'].exists(k, k in {{ include "numaplace.cel.annotations" . }}) ||
    {{ include "numaplace.cel.asks" (dict "resource" .Values.cluster.gpuResource) }}
    {{- if eq .Values.cluster.hcas "exclusive" }} ||
    {{ include "numaplace.cel.asks" (dict "resource" .Values.cluster.hcaResource) }}
    {{- end }}
{{- end }}

{{- define "numaplace.cel.planner" -}}
request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:numaplace-planner'
{{- end }}

{{/*
Where the agent runs, containerd starts no container of ours while it is not connected. Plugins that the Pod requires by
itself stay; the annotation is a list in JSON or YAML.
*/}}
{{- define "numaplace.cel.requiredPlugins" -}}
- name: required
  expression: {{ include "numaplace.cel.annotations" . }}[?'required-plugins.noderesource.dev'].orValue('').trim()
- name: plugins
  expression: >-
    variables.required in ['', '[]'] ? '["numaplace"]' :
    variables.required.contains('numaplace') ? variables.required :
    variables.required.endsWith(']') ?
    variables.required.substring(0, variables.required.size() - 1) + ', "numaplace"]' :
    variables.required + '\n- numaplace'
{{- end }}

{{/* Where policies about the words of a Pod hold: everywhere but in the namespaces that the values exempt. */}}
{{- define "numaplace.namespaces" -}}
{{- with .Values.admission.exemptNamespaces -}}
namespaceSelector:
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson . }}}
{{- end }}
{{- end }}

{{/* A binding that makes a policy count: name, and what is done to whom it refuses. */}}
{{- define "numaplace.enforce" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "numaplace.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [{{ .action }}]
{{- end }}

{{- define "numaplace.mutate" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "numaplace.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
{{- end }}
