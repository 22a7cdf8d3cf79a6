package bench

import (
	"fmt"
	"strings"
	"testing"
)

func TestCountRequests(t *testing.T) {
	const stage = "ResponseComplete"
	cases := map[string]struct {
		reason                                           string
		stage, user, verb, resource, subresource, folder string
		want                                             requests
	}{
		"Create":     {"A create is a write.", stage, daemonUser, "create", "works", "", "karmada-es-bench-000", requests{writes: 1}},
		"Report":     {"A controller that applies a Work reports it.", stage, "karmada", "patch", "works", "status", "karmada-es-bench-000", requests{writes: 1, reports: 1}},
		"Get":        {"A source is read.", stage, daemonUser, "get", "configmaps", "", namespace, requests{reads: 1}},
		"Watch":      {"Watches fill the cache.", stage, daemonUser, "watch", "works", "", "", requests{}},
		"Settings":   {"The configuration is read at each start.", stage, daemonUser, "get", "configmaps", "", configurationNamespace, requests{}},
		"Lease":      {"The Lease is renewed in any case.", stage, daemonUser, "update", "leases", "", configurationNamespace, requests{}},
		"Discovery":  {"A request for a URL has no object.", stage, daemonUser, "get", "", "", "", requests{}},
		"Unanswered": {"Each request has a line for each stage.", "RequestReceived", daemonUser, "create", "works", "", "", requests{}},
		"Others":     {"Requests of other users do not count.", stage, "system:admin", "create", "works", "", "", requests{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			line := fmt.Sprintf(`{"stage":%q,"verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"subresource":%q,"namespace":%q}}`,
				tc.stage, tc.verb, tc.user, tc.resource, tc.subresource, tc.folder)
			got, err := countRequests(strings.NewReader(line+"\n"+line[:20]), []string{"karmada", daemonUser})
			if err != nil || got != tc.want {
				t.Errorf("%s countRequests() = %+v, %v, want %+v", tc.reason, got, err, tc.want)
			}
		})
	}
}
