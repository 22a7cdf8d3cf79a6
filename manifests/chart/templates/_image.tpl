{{- /* The reference of an image: a digest overrides a tag. */}}
{{- define "image" -}}
{{- .repository -}}{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ .tag }}{{- end -}}
{{- end }}
