{{/* Short enough for every suffix: -worker-<10 characters of a revision>. */}}
{{- define "vedette.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selectors have: it never changes. Of (root, component). */}}
{{- define "vedette.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Values.nameOverride | default .root.Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "vedette.labels" -}}
{{ include "vedette.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: vedette
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vedette.image" -}}
{{- $image := .Values.image -}}
{{- $name := ternary $image.repository (printf "%s/%s" $image.registry $image.repository) (empty $image.registry) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "vedette.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "vedette.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The options of a role: its own over those of all. Of (root, role); YAML. */}}
{{- define "vedette.role" -}}
{{- mustMergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values .role)) | toYaml -}}
{{- end -}}

{{/* What tells the code of one version from that of another: the journals of handlers depend on nothing else. */}}
{{- define "vedette.revision" -}}
{{- .Values.worker.revision | default (include "vedette.image" . | sha256sum | trunc 10) -}}
{{- end -}}

{{- define "vedette.workerService" -}}
{{- $base := printf "%s-worker" (include "vedette.fullname" .) -}}
{{- ternary (printf "%s-%s" $base (include "vedette.revision" .)) $base .Values.worker.service.perRevision -}}
{{- end -}}

{{/* "true" while each revision has an address of its own, so that workers of two may run side by side. */}}
{{- define "vedette.hasOwnAddress" -}}
{{- $given := .Values.worker.advertisedUrl -}}
{{- if and .Values.worker.service.perRevision (or (empty $given) (contains "{{" $given)) -}}true{{- end -}}
{{- end -}}

{{/* The Services that led to earlier workers, as far as they are known: {"names": [...]}. */}}
{{- define "vedette.formerServices" -}}
{{- $own := include "vedette.workerService" . -}}
{{- $names := .Values.worker.service.former -}}
{{- if .Values.worker.service.findFormer -}}
{{- range (lookup "v1" "Service" .Release.Namespace "").items | default list -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (hasKey $labels "vedette.dev/worker-address") (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) -}}
{{- $names = append $names .metadata.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "names" (without ($names | uniq | sortAlpha) $own) | toYaml -}}
{{- end -}}

{{- define "vedette.advertisedUrl" -}}
{{- if .Values.worker.advertisedUrl -}}
{{- tpl .Values.worker.advertisedUrl . -}}
{{- else -}}
{{- $config := include "vedette.config" . | fromYaml -}}
{{- $port := include "vedette.port" (dict "config" $config "table" "worker") -}}
{{- printf "http://%s.%s.svc:%s" (include "vedette.workerService" .) .Release.Namespace $port -}}
{{- end -}}
{{- end -}}
