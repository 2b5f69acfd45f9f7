{{/* Fails with a line for each thing that is missing or may not be so: what a start would refuse, and what only a chart can see. */}}
{{- define "vedette.checks" -}}
{{- $faults := list -}}
{{- $config := include "vedette.config" . | fromYaml -}}
{{- if empty .Values.image.repository -}}
{{- $faults = append $faults "image.repository: set the image that you have built and pushed (docs/kubernetes.md, \"The image\")" -}}
{{- end -}}
{{- $known := .Files.Get "files/secrets.yaml" | fromYamlArray -}}
{{- $variables := list -}}
{{- range $known -}}
{{- $variables = append $variables .variable -}}
{{- if include "vedette.setting" (dict "config" $config "setting" .setting) -}}
{{- $faults = append $faults (printf "config.%s: is a secret and does not belong into a ConfigMap: name its Secret as secrets.%s" .setting .variable) -}}
{{- end -}}
{{- end -}}
{{- range $fleet, $table := $config.fleets | default dict -}}
{{- range $path := list "http.token" "rollout.prometheus_token" "slack.sentinel_rollout_webhook_url" -}}
{{- if include "vedette.setting" (dict "config" $table "setting" $path) -}}
{{- $variable := printf "VEDETTE_FLEETS__%s__%s" (upper $fleet) ($path | upper | replace "." "__") -}}
{{- $faults = append $faults (printf "config.fleets.%s.%s: is a secret and does not belong into a ConfigMap: name its Secret as secrets.%s" $fleet $path $variable) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $variable, $from := .Values.secrets -}}
{{- if not (or (has $variable $variables) (hasPrefix "REGISTRY_AUTH_" $variable) (hasPrefix "VEDETTE_SECRET_" $variable) (hasPrefix "VEDETTE_FLEETS__" $variable)) -}}
{{- $faults = append $faults (printf "secrets.%s: is no secret of Vedette (docs/settings.md, \"Secrets\")" $variable) -}}
{{- end -}}
{{- if and (empty $.Values.existingSecret) (empty (dig "name" "" ($from | default dict))) -}}
{{- $faults = append $faults (printf "secrets.%s.name: set the Secret that has it, or existingSecret for all of them" $variable) -}}
{{- end -}}
{{- end -}}
{{- $missing := dict -}}
{{- range $role := list "worker" "control" "api" -}}
{{- if (index $.Values $role).enabled -}}
{{- $of := dict "root" $ "role" $role "config" $config -}}
{{- $faults = concat $faults (include "vedette.missingSettings" $of | fromYaml).faults -}}
{{- range (include "vedette.missingSecrets" $of | fromYaml).variables -}}
{{- $_ := set $missing . (append (get $missing . | default list) $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $variable, $roles := $missing -}}
{{- $other := ternary ", or set config.analytics.enabled: false" "" (eq $variable "CLICKHOUSE_URL") -}}
{{- $faults = append $faults (printf "secrets.%s: needed by %s: name the Secret that has it%s" $variable (join ", " $roles) $other) -}}
{{- end -}}
{{- $faults = concat $faults (include "vedette.contradictions" . | fromYaml).faults -}}
{{- if $faults -}}
{{- fail (printf "\n  %s" (join "\n  " ($faults | uniq))) -}}
{{- end -}}
{{- end -}}

{{/* Of (root, role, config). What `extraEnvFrom` brings is not known here, so that nothing is asked of such a role. */}}
{{- define "vedette.missingSecrets" -}}
{{- $options := include "vedette.role" . | fromYaml -}}
{{- $hasAnalytics := dig "analytics" "enabled" true .config -}}
{{- $needed := list "DATABASE_URL" -}}
{{- if $hasAnalytics -}}{{- $needed = append $needed "CLICKHOUSE_URL" -}}{{- end -}}
{{- if eq .role "control" -}}{{- $needed = append $needed "INGRESS_TOKEN" -}}{{- end -}}
{{- if eq .role "api" -}}
{{- $needed = concat $needed (list "REDIS_URL" "VEDETTE_ROOT_KEY" "VEDETTE_API__ENCRYPTION_KEYS") -}}
{{- end -}}
{{- if and (eq .role "worker") (include "vedette.setting" (dict "config" .config "setting" "restate.front_host")) -}}
{{- $needed = append $needed "INGRESS_TOKEN" -}}
{{- end -}}
{{- if and (eq .role "worker") (dig "acme" "names" list .config) -}}
{{- $needed = append $needed "VEDETTE_API__ENCRYPTION_KEYS" -}}
{{- end -}}
{{- $given := keys .root.Values.secrets -}}
{{- range $options.extraEnv -}}{{- $given = append $given (trimSuffix "_FILE" .name) -}}{{- end -}}
{{- $variables := list -}}
{{- if empty $options.extraEnvFrom -}}
{{- range $needed -}}
{{- if not (has . $given) -}}{{- $variables = append $variables . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "variables" $variables | toYaml -}}
{{- end -}}

{{- define "vedette.missingSettings" -}}
{{- $faults := list -}}
{{- $config := .config -}}
{{- if ne .role "api" -}}
{{- range list "restate.ingress_url" "restate.admin_url" -}}
{{- if not (include "vedette.setting" (dict "config" $config "setting" .)) -}}
{{- $faults = append $faults (printf "config.%s: the roles worker and control need the address of your Restate" .) -}}
{{- end -}}
{{- end -}}
{{- if not (include "vedette.setting" (dict "config" $config "setting" "monitor.base_url")) -}}
{{- $faults = append $faults "config.monitor.base_url: the role api is not part of this release: set the address of the public API" -}}
{{- end -}}
{{- end -}}
{{- if eq .role "worker" -}}
{{- $driver := include "vedette.setting" (dict "config" $config "setting" "fleet.driver") -}}
{{- if has $driver (list "" "process") -}}
{{- $faults = append $faults "config.fleet.driver: set kubernetes, docker or http: the sentinels of \"process\" are processes of one machine (docs/fleets.md)" -}}
{{- end -}}
{{- if and (eq $driver "http") (not (include "vedette.setting" (dict "config" $config "setting" "fleet.http.url"))) -}}
{{- $faults = append $faults "config.fleet.http.url: the driver http needs the address of your fleet (docs/fleets.md)" -}}
{{- end -}}
{{- $restate := $config.restate | default dict -}}
{{- if not (or $restate.identity_keys $restate.identity_key_file (dig "worker" "allow_unsigned" false $config)) -}}
{{- $faults = append $faults "config.restate.identity_keys: set the public key of your Restate, or config.worker.allow_unsigned: true where a NetworkPolicy admits no one else (docs/docker.md, \"Keys\")" -}}
{{- end -}}
{{- end -}}
{{- dict "faults" $faults | toYaml -}}
{{- end -}}

{{- define "vedette.contradictions" -}}
{{- $faults := list -}}
{{- $values := .Values -}}
{{- $worker := include "vedette.role" (dict "root" . "role" "worker") | fromYaml -}}
{{- if and (not (include "vedette.hasOwnAddress" .)) (eq (dig "strategy" "type" "Recreate" $worker) "RollingUpdate") -}}
{{- $faults = append $faults "worker.strategy: workers of two revisions may not share an address: leave it out (Recreate), or set worker.service.perRevision: true" -}}
{{- end -}}
{{- $api := include "vedette.role" (dict "root" . "role" "api") | fromYaml -}}
{{- $scaling := $values.api.autoscaling -}}
{{- if and $values.api.enabled $scaling.enabled -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- $faults = append $faults "api.autoscaling: minReplicas is more than maxReplicas" -}}
{{- end -}}
{{- if and $scaling.targetCPUUtilizationPercentage (not (dig "resources" "requests" "cpu" "" $api)) -}}
{{- $faults = append $faults "api.resources.requests.cpu: api.autoscaling.targetCPUUtilizationPercentage is a share of it: set it" -}}
{{- end -}}
{{- end -}}
{{- if and $values.metrics.serviceMonitor.enabled (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- $faults = append $faults "metrics.serviceMonitor.enabled: this cluster has no monitoring.coreos.com/v1 (the Prometheus operator); with `helm template` add --api-versions monitoring.coreos.com/v1" -}}
{{- end -}}
{{- if and $values.metrics.rules.enabled (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- $faults = append $faults "metrics.rules.enabled: this cluster has no monitoring.coreos.com/v1 (the Prometheus operator); with `helm template` add --api-versions monitoring.coreos.com/v1" -}}
{{- end -}}
{{- range list "api" "control" -}}
{{- $of := index $values . -}}
{{- if and $of.httpRoute.enabled (empty $of.httpRoute.parentRefs) -}}
{{- $faults = append $faults (printf "%s.httpRoute.parentRefs: name the Gateway" .) -}}
{{- end -}}
{{- if and $of.ingress.enabled (empty $of.ingress.hosts) -}}
{{- $faults = append $faults (printf "%s.ingress.hosts: name the host" .) -}}
{{- end -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled $values.worker.enabled (empty $values.networkPolicy.workerFrom) -}}
{{- $faults = append $faults "networkPolicy.workerFrom: name the pods of your Restate, or it cannot call the worker; or set networkPolicy.enabled: false" -}}
{{- end -}}
{{- dict "faults" $faults | toYaml -}}
{{- end -}}
