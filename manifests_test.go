package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
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

// TestRecommendedLimits: a memory limit in the docs is twice the heap, for garbage, of which the daemon
// allows Go 90 %, in steps of 128 MiB; and KarmadaMirrorMemoryHigh fires at 80 % of that, which needs
// room for what Go has besides the heap.
func TestRecommendedLimits(t *testing.T) {
	const goShare, alertAbove, unit = 0.9, 0.8, 128
	rule, err := os.ReadFile("manifests/monitoring/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(fmt.Sprintf(`(?s)alert: KarmadaMirrorMemoryHigh\n[^>]*\) > %g\n`, alertAbove)).Match(rule) {
		t.Errorf("the alert is not at %g", alertAbove)
	}
	page, err := os.ReadFile("docs/how-to/install.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| [0-9,]+ \| [0-9,]+ \| ([0-9]+) MB \| ([0-9]+)Mi \|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) == 0 {
		t.Fatal("install.md has no table of limits")
	}
	for _, row := range rows {
		heap, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		heap *= 1e6 / (1 << 20)
		limit := unit * (1 + int(heap*2/goShare/unit))
		if row[2] != strconv.Itoa(limit) || heap/(goShare*float64(limit)) > alertAbove-0.25 {
			t.Errorf("%q: the limit for such a heap is %dMi", row[0], limit)
		}
	}
}
