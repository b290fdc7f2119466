{{- define "counterfoil.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "counterfoil.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "counterfoil.labels" -}}
{{ include "counterfoil.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "counterfoil.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "counterfoil.scheme" -}}
{{ if .Values.tls.secretName }}https{{ else }}http{{ end }}
{{- end -}}

{{/* The address of the registry in browsers: that of the ingress. Empty without one, and where it is below a path. */}}
{{- define "counterfoil.publicUrl" -}}
{{- with .Values.settings.public_url -}}
{{ . }}
{{- else -}}
{{- with .Values.ingress -}}
{{- if and .enabled (eq .path "/") -}}
{{ if .tlsSecretName }}https{{ else }}http{{ end }}://{{ .host }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secret with the store's password; empty where there is none. */}}
{{- define "counterfoil.passwordSecret" -}}
{{- if .Values.store.passwordSecret.name -}}
{{ .Values.store.passwordSecret.name }}
{{- else if .Values.store.password -}}
{{ include "counterfoil.fullname" . }}-store
{{- end -}}
{{- end -}}

{{/* The Secret with the files that the access file names; empty where there is none. */}}
{{- define "counterfoil.accessSecret" -}}
{{- if .Values.access.existingSecret -}}
{{ .Values.access.existingSecret }}
{{- else if .Values.access.secretFiles -}}
{{ include "counterfoil.fullname" . }}-access
{{- end -}}
{{- end -}}

{{/* A way to see that a server answers: over TLS with client certificates kubelet has none, so that a connection counts. */}}
{{- define "counterfoil.probe" -}}
{{- if eq .root.Values.tls.clientCertificates "required" -}}
tcpSocket: {port: api}
{{- else -}}
httpGet: {path: {{ .path }}, port: api, scheme: {{ include "counterfoil.scheme" .root | upper }}}
{{- end -}}
{{- end -}}

{{- define "counterfoil.check" -}}
{{- $store := .Values.store -}}
{{- if and $store.url $store.sqlite.enabled -}}
{{- fail "store.url and store.sqlite.enabled are both set; set one of them" -}}
{{- end -}}
{{- if not (or $store.url $store.sqlite.enabled) -}}
{{- fail "set store.url to a PostgreSQL database, or store.sqlite.enabled to true for one server with a SQLite file" -}}
{{- end -}}
{{- if and $store.sqlite.enabled (ne (int .Values.replicas) 1) -}}
{{- fail "one server at a time can use a SQLite file; set replicas to 1, or store.url to a PostgreSQL database" -}}
{{- end -}}
{{- if and $store.password $store.passwordSecret.name -}}
{{- fail "store.password and store.passwordSecret.name are both set; set one of them" -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@|[?&](ssl)?password=" $store.url -}}
{{- fail "store.url has a password, which everyone who may read the Deployment would see; set store.password or store.passwordSecret" -}}
{{- end -}}
{{- if and .Values.access.secretFiles .Values.access.existingSecret -}}
{{- fail "access.secretFiles and access.existingSecret are both set; set one of them" -}}
{{- end -}}
{{- if and (ne .Values.tls.clientCertificates "none") (not (and .Values.tls.secretName .Values.tls.clientCaSecret)) -}}
{{- fail "tls.clientCertificates needs tls.secretName and tls.clientCaSecret" -}}
{{- end -}}
{{- end -}}
