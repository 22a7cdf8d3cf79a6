package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// checkedClusters is how many clusters the admission policy checks one by one.
const checkedClusters = 24

// TestPolicyChecksEachCluster: CEL allows two checks of rights in an expression, so the
// admission policy has an expression for each place in the list of clusters. They are equal
// but for the place.
func TestPolicyChecksEachCluster(t *testing.T) {
	const path = "manifests/karmada/validatingadmissionpolicy.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	limit := fmt.Sprintf("  - expression: variables.named.size() <= %d || variables.isAllowedAll\n", checkedClusters)
	var want strings.Builder
	for i := range checkedClusters {
		fmt.Fprintf(&want, `  - {reason: Forbidden, expression: "variables.named.size() <= %[1]d || variables.isAllowedAll || variables.clusters.name(variables.named[%[1]d]).check('mirror').allowed()", `+
			`messageExpression: "variables.refusal + 'clusters.cluster.karmada.io/' + variables.named[%[1]d]"}`+"\n", i)
	}
	policy := string(data)
	if !strings.Contains(policy, limit) || !strings.Contains(policy, want.String()) || strings.Count(policy, "variables.clusters.name(") != checkedClusters {
		t.Errorf("%s should have the line\n%s\nand these, and no other checks of single clusters:\n%s", path, limit, want.String())
	}
}
