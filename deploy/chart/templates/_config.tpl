{{/* The settings: those of the values over what every pod needs. YAML. */}}
{{- define "vedette.config" -}}
{{- $anywhere := dict "host" "0.0.0.0" -}}
{{- $own := dict "deployment" "distributed" -}}
{{- range list "api" "control" "worker" "metrics" -}}
{{- $_ := set $own . (deepCopy $anywhere) -}}
{{- end -}}
{{- if .Values.api.enabled -}}
{{- $url := printf "http://%s-api.%s.svc:%v" (include "vedette.fullname" .) .Release.Namespace .Values.api.service.port -}}
{{- $_ := set $own "monitor" (dict "base_url" $url) -}}
{{- end -}}
{{- if .Values.definitions -}}
{{- $_ := set $own "definitions" (dict "file" "/etc/vedette/config/vedette.config.yaml") -}}
{{- end -}}
{{- mustMergeOverwrite $own (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{/* The value of a setting, or nothing. Of (config, setting), such as "restate.ingress_url". */}}
{{- define "vedette.setting" -}}
{{- $value := .config -}}
{{- range splitList "." .setting -}}
{{- if kindIs "map" $value -}}{{- $value = get $value . -}}{{- else -}}{{- $value = "" -}}{{- end -}}
{{- end -}}
{{- if $value -}}{{- $value | toString -}}{{- end -}}
{{- end -}}

{{/* Of (config, table): the port at which it listens. */}}
{{- define "vedette.port" -}}
{{- $ports := dict "api" 7070 "control" 7071 "metrics" 7072 "worker" 9480 -}}
{{- include "vedette.setting" (dict "config" .config "setting" (printf "%s.port" .table)) | default (get $ports .table) | int -}}
{{- end -}}

{{/* The namespaces of the driver kubernetes: {"names": [...]}. */}}
{{- define "vedette.fleetNamespaces" -}}
{{- $config := include "vedette.config" . | fromYaml -}}
{{- $given := dig "fleet" "kubernetes" "namespaces" list $config -}}
{{- if kindIs "string" $given -}}
{{- $given = regexSplit "[,\\s]+" (trim $given) -1 -}}
{{- end -}}
{{- dict "names" (compact $given | default (list .Release.Namespace)) | toYaml -}}
{{- end -}}

{{/* "true" when the driver asks the API server of this cluster as its service account. */}}
{{- define "vedette.usesCluster" -}}
{{- $config := include "vedette.config" . | fromYaml -}}
{{- if and .Values.worker.enabled (eq (include "vedette.setting" (dict "config" $config "setting" "fleet.driver")) "kubernetes") -}}true{{- end -}}
{{- end -}}
