{{- /* A file of the kustomization, in the release's own namespace: (list $ "rbac-webhook.yaml"). */ -}}
{{- define "fabric-injector.file" -}}
{{- $root := index . 0 -}}
---
{{ $root.Files.Get (printf "files/%s" (index . 1)) | replace "namespace: fabric-injector\n" (printf "namespace: %s\n" $root.Release.Namespace) | replace "fabric-injector.fabric-injector.svc" (printf "fabric-injector.%s.svc" $root.Release.Namespace) }}
{{ end -}}
