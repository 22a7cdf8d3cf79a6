package bench

import (
	"encoding/json"
	"testing"
)

func TestWritesStatusOf(t *testing.T) {
	cases := map[string]struct {
		reason, line string
		want         bool
	}{
		"Patch":     {"karmada-mirror patches", `{"verb":"patch","objectRef":{"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"bench","name":"a"},"responseStatus":{"code":200}}`, true},
		"Update":    {"Karmada updates", `{"verb":"update","objectRef":{"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"bench","name":"a"},"responseStatus":{"code":200}}`, true},
		"Conflict":  {"nothing was written", `{"verb":"patch","objectRef":{"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"bench","name":"a"},"responseStatus":{"code":409}}`, false},
		"Read":      {"a status may be read", `{"verb":"get","objectRef":{"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"bench","name":"a"},"responseStatus":{"code":200}}`, false},
		"Edit":      {"the edit is not a write of the status", `{"verb":"patch","objectRef":{"apiGroup":"apps","resource":"deployments","namespace":"bench","name":"a"},"responseStatus":{"code":200}}`, false},
		"Work":      {"the status of a Work is not that of its source", `{"verb":"update","objectRef":{"apiGroup":"work.karmada.io","resource":"works","subresource":"status","namespace":"karmada-es-bench-000","name":"a"},"responseStatus":{"code":200}}`, false},
		"Elsewhere": {"a Deployment in another namespace is no source", `{"verb":"patch","objectRef":{"apiGroup":"apps","resource":"deployments","subresource":"status","namespace":"other","name":"a"},"responseStatus":{"code":200}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var r request
			if err := json.Unmarshal([]byte(tc.line), &r); err != nil {
				t.Fatal(err)
			}
			if got := r.writesStatusOf(deployments); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}
