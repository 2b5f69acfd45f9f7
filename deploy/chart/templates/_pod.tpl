{{/* What the pods of roles and of the migration have in common, but for containers and volumes. Of (root, options). */}}
{{- define "vedette.podBasics" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
# Variables of Kubernetes' own, for each Service, begin with VEDETTE_ as well.
enableServiceLinks: false
{{- with .options.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .options.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .options.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .options.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .options.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The container, but for what it is told to do. Of (root, options). */}}
{{- define "vedette.containerBasics" -}}
name: vedette
image: {{ include "vedette.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with .options.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .options.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .options.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The variables of secrets and of the values. Of (options, files). */}}
{{- define "vedette.ownEnv" -}}
{{- range .files }}
- { name: {{ .variable }}_FILE, value: /etc/vedette/secrets/{{ .variable }} }
{{- if .hosts }}
- { name: {{ .variable }}_HOSTS, value: {{ .hosts | quote }} }
{{- end }}
{{- end }}
{{- with .options.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A probe at the metrics port. Of (path, options). */}}
{{- define "vedette.probe" -}}
httpGet: { path: {{ .path }}, port: metrics }
{{- with .options }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Of (root, role, constraints). */}}
{{- define "vedette.spread" -}}
{{- range .constraints }}
- {{ toYaml . | nindent 2 | trim }}
  {{- if not .labelSelector }}
  labelSelector:
    matchLabels:
      {{- include "vedette.selectorLabels" (dict "root" $.root "component" $.role) | nindent 6 }}
  {{- end }}
{{- end }}
{{- end -}}
