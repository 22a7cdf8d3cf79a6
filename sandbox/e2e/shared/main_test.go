// Package shared holds the end-to-end tests that run in parallel on one Karmada, with one daemon.
package shared

import (
	"testing"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

const configuration = e2e.ConfigurationHead + `
deletion: {holdAbove: {works: 50, percent: 25}}
overridePolicies: Honor
resources:
- {resource: configmaps, namespaces: ["shared-*"]}
- {group: apps, resource: deployments, aggregateStatus: true, namespaces: ["shared-*"]}
- {group: autoscaling, version: v2, resource: horizontalpodautoscalers, namespaces: ["shared-*"]}
- {group: ` + comesAndGoes + `, version: v2, resource: blobs, namespaces: ["shared-*"]}
- {group: ` + shapes + `, resource: blobs, namespaces: ["shared-*"]}
- {group: ` + shapes + `, resource: jobs, namespaces: ["shared-*"]}
- {group: ` + shapes + `, resource: secrets, namespaces: ["shared-*"]}
- {group: ` + shapes + `, resource: services, namespaces: ["shared-*"]}
- {group: ` + shapes + `, resource: serviceaccounts, namespaces: ["shared-*"]}
`

func TestMain(m *testing.M) {
	e2e.Main(m, e2e.Setup{Members: e2e.Members(e2e.Push, e2e.Pull), Configuration: configuration})
}
