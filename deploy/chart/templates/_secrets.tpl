{{/* The secrets that a role is given: {"files": [{variable, secret, key, hosts}]}. Of (root, role). */}}
{{- define "vedette.secretFiles" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $config := include "vedette.config" $root | fromYaml -}}
{{- $needed := list -}}
{{- range $root.Files.Get "files/secrets.yaml" | fromYamlArray -}}
{{- $with := .workerWith | default "" -}}
{{- $isWith := and (eq $role "worker") $with (include "vedette.setting" (dict "config" $config "setting" $with)) -}}
{{- if or (has $role .roles) $isWith -}}
{{- $needed = append $needed .variable -}}
{{- end -}}
{{- end -}}
{{- $files := list -}}
{{- range $variable, $from := $root.Values.secrets -}}
{{- $isOfFleet := or (hasPrefix "REGISTRY_AUTH_" $variable) (hasPrefix "VEDETTE_FLEETS__" $variable) -}}
{{- $isOfFleet = and (eq $role "worker") $isOfFleet -}}
{{- $isOfRow := and (has $role (list "worker" "control")) (hasPrefix "VEDETTE_SECRET_" $variable) -}}
{{- if or (has $variable $needed) $isOfFleet $isOfRow -}}
{{- $from = $from | default dict -}}
{{- $name := $from.name | default $root.Values.existingSecret -}}
{{- $files = append $files (dict "variable" $variable "secret" $name "key" ($from.key | default $variable) "hosts" ($from.hosts | default "")) -}}
{{- end -}}
{{- end -}}
{{- dict "files" $files | toYaml -}}
{{- end -}}

{{/* Of (root, files). */}}
{{- define "vedette.secretVolume" -}}
- name: secrets
  projected:
    # Read by the group, which is that of `fsGroup`.
    defaultMode: 288
    sources:
      {{- range .files }}
      - secret:
          name: {{ .secret }}
          items: [{ key: {{ .key | quote }}, path: {{ .variable }} }]
      {{- end }}
{{- end -}}
