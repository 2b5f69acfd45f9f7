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

{{/* The tables of the fleets with the driver kubernetes: {"tables": [...]}. */}}
{{- define "vedette.clusterFleets" -}}
{{- $config := include "vedette.config" . | fromYaml -}}
{{- $tables := list -}}
{{- range prepend (values ($config.fleets | default dict)) ($config.fleet | default dict) -}}
{{- if eq (.driver | default "") "kubernetes" -}}
{{- $tables = append $tables (.kubernetes | default dict) -}}
{{- end -}}
{{- end -}}
{{- dict "tables" $tables | toYaml -}}
{{- end -}}

{{/* A list of the settings, which may be text. Of (value). {"names": [...]}. */}}
{{- define "vedette.list" -}}
{{- $given := .value | default list -}}
{{- if kindIs "string" $given -}}
{{- $given = regexSplit "[,\\s]+" (trim $given) -1 -}}
{{- end -}}
{{- dict "names" (compact $given) | toYaml -}}
{{- end -}}

{{/* The namespaces of the driver kubernetes: {"names": [...]}. */}}
{{- define "vedette.fleetNamespaces" -}}
{{- $names := list -}}
{{- range (include "vedette.clusterFleets" . | fromYaml).tables -}}
{{- $own := (include "vedette.list" (dict "value" .namespaces) | fromYaml).names -}}
{{- $names = concat $names ($own | default (list $.Release.Namespace)) -}}
{{- end -}}
{{- dict "names" (uniq $names) | toYaml -}}
{{- end -}}

{{/* "true" when a fleet has StatefulSets or DaemonSets. */}}
{{- define "vedette.hasSets" -}}
{{- range (include "vedette.clusterFleets" . | fromYaml).tables -}}
{{- range (include "vedette.list" (dict "value" .kinds) | fromYaml).names -}}
{{- if has . (list "statefulsets" "daemonsets") -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" when a driver asks the API server of this cluster as its service account. */}}
{{- define "vedette.usesCluster" -}}
{{- if and .Values.worker.enabled (include "vedette.clusterFleets" . | fromYaml).tables -}}true{{- end -}}
{{- end -}}
