{{- /* A file of the kustomization, in the release's own namespace: (list $ "rbac-webhook.yaml"). */ -}}
{{- define "fabric-injector.file" -}}
{{- $root := index . 0 -}}
{{- $namespace := $root.Release.Namespace -}}
---
{{ $root.Files.Get (printf "files/%s" (index . 1)) | replace "namespace: fabric-injector\n" (printf "namespace: %s\n" $namespace) | replace "request.namespace == \"fabric-injector\"" (printf "request.namespace == %q" $namespace) | replace "fabric-injector.fabric-injector.svc" (printf "fabric-injector.%s.svc" $namespace) }}
{{ end -}}
