{{/*
The sentences of decide/admit in CEL. Every piece is a text of zero or more lines, one line a fault, in the order in
which admit tells them. What CEL cannot read for certain (JSON with escapes or numbers, amounts finer than a
thousandth, letters beyond ASCII) has no line here: the planner refuses it later.
*/}}

{{/* Text as Python's repr shows it; for printable ASCII. */}}
{{- define "numaplace.cel.shown" -}}
({{ . }}.contains("'") && !{{ . }}.contains('"') ? '"' + {{ . }}.replace('\\', '\\\\') + '"'
: "'" + {{ . }}.replace('\\', '\\\\').replace("'", "\\'") + "'")
{{- end }}

{{/* An amount in units or thousandths; `?` for one that has finer parts. */}}
{{- define "numaplace.cel.amount" -}}
({{ . }} == '' ? 'nothing' : quantity({{ . }}).isInteger() ? string(quantity({{ . }}).asInteger())
: {{ . }}.matches('^[0-9]+m$') ? {{ . }} : '?')
{{- end }}

{{/* The members of a flat JSON object of texts, each split at its quotes: ['', key, ':', value, '']. */}}
{{- define "numaplace.cel.members" -}}
'{{ . }}' in variables.annotations && variables.readable ?
string(variables.annotations['{{ . }}']).findAll('"[^"]*"[ \t\n\r]*:[ \t\n\r]*"[^"]*"').map(m, m.split('"')) : []
{{- end }}

{{- define "numaplace.rules.spec" -}}
{{ .members }}.filter(m, !(m[1] in ['numaTopologyPolicy', 'singleNUMANodeExclusive'])).map(m, m[1].size() > 60 ? m[1].substring(0, 60) : m[1]).map(k,
'annotation {{ .key }}: found the unknown key ' + {{ include "numaplace.cel.shown" "k" }}
+ '; expected numaTopologyPolicy or singleNUMANodeExclusive\n').join('')
+ (variables.readable && {{ .members }}.size() <= 4
&& {{ .members }}.all(m, m[1] != 'numaTopologyPolicy' && m[1].size() <= 40) ?
'annotation {{ .key }}: found ' + ({{ .members }}.size() == 0 ? '{}' : {{ .members }}.map(m, m[1]).join(', '))
+ ' without numaTopologyPolicy; expected {"numaTopologyPolicy": "SingleNUMANode|Restricted|BestEffort"}\n' : '')
{{- end }}

{{/* One value for each of the choices, and the same from whoever says it. */}}
{{- define "numaplace.rules.told" -}}
variables.wrong.all(w, w.size() == 0) ? ['', '', '', '', '', '', ''] :
[0, 1, 2, 3, 4, 5, 6].map(i, variables.wrong[i].size() == 0 ? '' : variables.wrong[i][0][1] in variables.legal[i] ?
'annotation ' + variables.wrong[i][0][0] + ": found '" + variables.wrong[i][0][1] + "' while " + variables.sources[i][0][0]
+ " says '" + variables.sources[i][0][1] + "'; expected one of the two keys, or the same meaning in both\n" :
!variables.wrong[i][0][1].matches('^[ -~]*$') ? '' :
'annotation ' + variables.wrong[i][0][0] + ': found ' + {{ include "numaplace.cel.shown" "variables.wrong[i][0][1]" }}
+ '; expected ' + variables.words[i] + '\n')
{{- end }}

{{- define "numaplace.rules.annotations" -}}
{{- $ack := "scheduling.alibabacloud.com/numa-topology-spec" }}
{{- $koordinator := "scheduling.koordinator.sh/numa-topology-spec" -}}
('{{ $ack }}' in variables.annotations ?
{{ include "numaplace.rules.spec" (dict "key" $ack "members" "variables.ack") }} : '')
+ ('{{ $koordinator }}' in variables.annotations ?
{{ include "numaplace.rules.spec" (dict "key" $koordinator "members" "variables.koordinator") }} : '')
+ variables.told[0] + variables.told[1]
+ (variables.readable && !variables.namesPolicy && 'numaplace.dev/exclusive' in variables.annotations ?
'annotation numaplace.dev/exclusive: found no policy beside it; expected numaplace.dev/policy: ' + variables.words[0] + '\n'
: '')
+ variables.told[2] + variables.told[3]
+ (variables.annotations[?'cpuset-scheduler'].orValue('') == 'required'
&& variables.annotations[?'numaplace.dev/cpus'].orValue('') == 'shared' ?
"annotation numaplace.dev/cpus: found 'shared' while cpuset-scheduler says 'required'; expected one of the two keys, or "
+ "the same meaning in both\n" : '')
+ variables.told[4] + variables.told[5] + variables.told[6]
{{- end }}

{{- define "numaplace.rules.hcas" -}}
{{- if .Values.cluster.podIpRdma -}}
''
{{- else -}}
variables.askHca.size() == 0 || object.spec.?hostNetwork.orValue(false) ? '' :
'spec.hostNetwork: found false while container ' + variables.askHca[0] + ' asks {{ .Values.cluster.hcaResource }}; '
+ "expected true (RDMA from the Pod's own address is switched off)\n"
{{- end }}
{{- end }}

{{- define "numaplace.rules.memory" -}}
variables.annotations[?'numaplace.dev/memory'].orValue('') != 'bind' ? '' :
variables.containers.filter(c, c.?resources.?requests[?'memory'].orValue('0') == '0').map(c,
'container ' + c.name + ': requests.memory: found nothing; expected an amount, since the Pod binds its memory\n').join('')
{{- end }}

{{/* Containers that get CPUs of their own: name, limit, request, whether the CPUs may be resized. */}}
{{- define "numaplace.rules.owners" -}}
(object.spec.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') == 'Always') + object.spec.containers)
.filter(c, !(c.name in {{ .Values.cluster.sharingContainers | toJson }}))
.map(c, [string(c.name), string(c.?resources.?limits[?'cpu'].orValue('')),
string(c.?resources.?requests[?'cpu'].orValue('')), c.?resizePolicy.orValue([]).exists(p, p.resourceName == 'cpu') ? 'resized' : ''])
.map(c, [c[0], {{ include "numaplace.cel.amount" "c[1]" }}, {{ include "numaplace.cel.amount" "c[2]" }}, c[3]])
{{- end }}

{{- define "numaplace.rules.cpus" -}}
!variables.exclusiveCpus ? '' : variables.owners.size() == 0 ?
"exclusive CPUs: found only containers that share by the operator's choice; expected one that owns CPUs\n" :
variables.owners.map(c,
(c[1] in ['nothing', '0'] || c[1].endsWith('m') ?
'container ' + c[0] + ': limits.cpu: found ' + c[1]
+ '; expected a whole number of CPUs, at least 1, since exclusive CPUs are asked'
+ (c[0] in variables.injectors ? ' (this container usually comes from ' + variables.injectors[c[0]]
+ '; the operator may list it among the sharing containers)' : '') + '\n' :
c[1] == '?' || c[2] in [c[1], '?'] ? '' :
'container ' + c[0] + ': requests.cpu: found ' + c[2] + '; expected ' + c[1] + ', the same as limits.cpu'
+ (c[0] in variables.injectors ? ' (this container usually comes from ' + variables.injectors[c[0]]
+ '; the operator may list it among the sharing containers)' : '') + '\n')
+ (c[3] == '' ? '' : 'container ' + c[0]
+ ': resizePolicy: found one for cpu; expected none, since exclusive CPUs cannot be resized in place yet\n')).join('')
{{- end }}

{{- define "numaplace.rules.foreignGpus" -}}
{{- $foreign := list "false" }}
{{- range prepend .Values.cluster.foreignGpuResources .Values.cluster.gpuResource | uniq }}
{{- $foreign = append $foreign (printf "k == '%s' || k.startsWith('%s.') || k.startsWith('%s/mig-')" . . (splitList "/" . | first)) }}
{{- end -}}
!variables.namesPlacement ? '' : variables.containers.map(c, c.?resources.?limits.orValue({}).filter(k,
k != '{{ .Values.cluster.gpuResource }}' && c.resources.limits[k] != '0' && ({{ join " || " $foreign }}))
.map(k, k.size() > 80 ? k.substring(0, 80) : k).map(k, 'container ' + c.name + ': limits[' + k + ']: found ' + k
+ ' beside a placement key; expected whole cards as {{ .Values.cluster.gpuResource }}\n').join('')).join('')
{{- end }}

{{/* Keys of other features that would place the same CPUs or cards, and amounts of the whole Pod. */}}
{{- define "numaplace.rules.others" -}}
{{- $domain := splitList "/" .Values.cluster.gpuResource | first -}}
!(variables.namesPlacement || variables.asksGpu
{{- if eq .Values.cluster.hcas "exclusive" }} || variables.askHca.size() > 0{{ end }}) ? '' :
('cpu-policy' in variables.annotations ?
"annotation cpu-policy: found beside numaplace's placement; expected only one of the two features\n" : '')
+ ['gpu-topology', 'gpu-topology-replica'].filter(k, k in object.metadata.?labels.orValue({})).map(k,
'label ' + k + ": found beside numaplace's placement; expected only one of the two features\n").join('')
+ ['{{ $domain }}/gpu-mem', '{{ $domain }}/gpu-count', '{{ $domain }}/gpu-core.percentage'].filter(k,
variables.containers.exists(c, c.?resources.?limits[?k].orValue('0') != '0')).map(k,
'resource ' + k + ': found a share of a card; expected whole cards as {{ .Values.cluster.gpuResource }}\n').join('')
+ (variables.podLevel.size() == 0 ? '' : 'spec.resources: found ' + variables.podLevel.join(', ')
+ ' for the whole Pod; expected resources of each container only\n')
{{- end }}

{{/* Conditions that only mean something beside others; the sums are CEL's where no init container takes part. */}}
{{- define "numaplace.rules.alone" -}}
{{- $gpu := .Values.cluster.gpuResource }}
{{- $hca := .Values.cluster.hcaResource -}}
(!(variables.annotations[?'numaplace.dev/gpu-hca'].orValue('') in variables.legal[6])
|| (variables.asksGpu && variables.askHca.size() > 0) || object.spec.?initContainers.orValue([]).size() > 0 ? '' :
'annotation numaplace.dev/gpu-hca: found a condition while the Pod asks '
+ string(variables.containers.map(c, quantity(c.?resources.?limits[?'{{ $gpu }}'].orValue('0')).asInteger()).sum())
+ ' {{ $gpu }} and '
+ string(variables.containers.map(c, quantity(c.?resources.?limits[?'{{ $hca }}'].orValue('0')).asInteger()).sum())
+ ' {{ $hca }}; expected both\n')
+ (variables.annotations[?'numaplace.dev/memory'].orValue('') == 'bind' && variables.readable
&& !variables.namesPlacement && !variables.asksGpu
{{- if eq .Values.cluster.hcas "exclusive" }} && variables.askHca.size() == 0{{ end }} ?
'annotation numaplace.dev/memory: found bind on a Pod without a placement; expected a policy, exclusive CPUs or '
+ '{{ $gpu }} beside it\n' : '')
{{- end }}
