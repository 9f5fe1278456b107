{{- /* Labels of every object; those that selectors rest on, name and component, stand beside it. */ -}}
{{- define "fabric-injector.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: fabric-injector
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* A file of the kustomization, in the release's own namespace and with its labels: (list $ "base/rbac-webhook.yaml"). */ -}}
{{- define "fabric-injector.file" -}}
{{- $root := index . 0 -}}
{{- $namespace := $root.Release.Namespace -}}
{{- $text := $root.Files.Get (printf "files/%s" (index . 1)) | replace "namespace: fabric-injector\n" (printf "namespace: %s\n" $namespace) | replace "request.namespace == \"fabric-injector\"" (printf "request.namespace == %q" $namespace) | replace "each == \"fabric-injector\"" (printf "each == %q" $namespace) | replace "fabric-injector.fabric-injector.svc" (printf "fabric-injector.%s.svc" $namespace) -}}
---
{{ regexReplaceAllLiteral "(?m)^  labels:.*$" $text (printf "  labels:%s" (include "fabric-injector.labels" $root | nindent 4)) }}
{{ end -}}

{{- /* The image of a component: (list $ "webhook"). */ -}}
{{- define "fabric-injector.image" -}}
{{- $root := index . 0 -}}
{{- $image := $root.Values.image -}}
{{- $own := index $root.Values (index . 1) -}}
{{- $digest := ternary $own.digest $image.digest (or (not (empty $own.digest)) (not (empty $own.tag))) -}}
{{- if $digest -}}
{{ $image.repository }}@{{ $digest }}
{{- else -}}
{{ $image.repository }}:{{ $own.tag | default $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
