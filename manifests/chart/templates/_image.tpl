{{- /* The reference of an image: a digest goes before a tag. */}}
{{- define "image" -}}
{{- .repository -}}{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ .tag }}{{- end -}}
{{- end }}
