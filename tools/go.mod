module github.com/karmada-target/karmada-mirror/tools

go 1.26.0

tool golang.org/x/vuln/cmd/govulncheck

require golang.org/x/tools v0.29.0 // indirect

require (
	golang.org/x/mod v0.22.0 // indirect
	golang.org/x/sync v0.10.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	golang.org/x/telemetry v0.0.0-20240522233618-39ace7a40ae7 // indirect
	golang.org/x/vuln v1.1.4 // indirect
)
