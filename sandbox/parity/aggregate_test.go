package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"github.com/karmada-io/karmada/pkg/util/helper"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// The deliberate differences from Karmada; docs/decisions/status.md has the reasons.
const (
	noMembers        = "no members have not observed"
	statefulSets     = "StatefulSets report no observedGeneration"
	earlierObject    = "a generation that the Work does not have yet is an earlier object's"
	notBegun         = "a member with fewer Pods than it wants has not observed"
	rolloutCondition = "a Deployment has conditions"
	kept             = "what the sum does not set stays"
	saturated        = "a sum stops at the largest number"
	negative         = "a negative count is an error"
	unread           = "what a member reports besides a lost claim is read, too"
	unbound          = "an unreported claim is not bound"
	failureTarget    = "Failed comes with FailureTarget"
	failingOnly      = "a Job fails when no Pod is active"
	failureStays     = "FailureTarget is not taken back"
	failureStart     = "a failed Job has started"
	criteriaMet      = "Complete comes with SuccessCriteriaMet"
	notComplete      = "Complete needs a start, an end and no active Pod"
	noEnd            = "without Complete, there is no end"
	counters         = "counters do not fall"
	addressMode      = "an address has a mode"
)

var deliberate = []string{
	noMembers, statefulSets, earlierObject, notBegun, rolloutCondition, kept, saturated, negative, unread, unbound,
	failureTarget, failingOnly, failureStays, failureStart, criteriaMet, notComplete, noEnd, counters, addressMode,
}

// TestAggregate compares with what Karmada's interpreter sums up. Most members report what
// Karmada's own function collects from a random object.
func TestAggregate(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // Karmada logs each error
	t.Cleanup(klog.ClearLogger)
	interpreter := native.NewDefaultInterpreter()
	random := rand.New(rand.NewPCG(30, 31))
	compared, differences := map[string]int{}, map[string]int{}
	refused := 0
	for n := range manyAggregates {
		c := newAggregateCase(t, random, interpreter)
		ours, err := aggregate.Status(c.source, c.members, time.Now())
		theirs, karmadaErr := c.karmada(interpreter)
		problem := ""
		switch {
		case err != nil && karmadaErr != nil:
			refused++
		case err != nil && c.hasNegative():
			differences[negative]++
		case err != nil && theirs["phase"] == "Lost":
			differences[unread]++
		case err != nil || karmadaErr != nil:
			problem = fmt.Sprintf("our error is %v, and Karmada's is %v", err, karmadaErr)
		default:
			compared[c.source.GetKind()]++
			problem = c.compare(theirs, ours, differences)
		}
		if problem != "" {
			t.Fatalf("case %d: %s\n%s", n, problem, c)
		}
	}
	t.Logf("%d cases: compared %v, refused by both %d, differences %v", manyAggregates, compared, refused, differences)
	checkCoverage(t, compared, differences, refused)
}

// checkCoverage checks that the comparison says enough.
func checkCoverage(t *testing.T, compared, differences map[string]int, refused int) {
	t.Helper()
	if len(compared) != len(aggregateKinds) || refused == 0 {
		t.Errorf("%d of %d kinds are compared, and %d cases refused by both", len(compared), len(aggregateKinds), refused)
	}
	for kind, n := range compared {
		if n < manyAggregates/len(aggregateKinds)/2 {
			t.Errorf("only %d %ss are compared", n, kind)
		}
	}
	for _, name := range deliberate {
		if differences[name] == 0 {
			t.Errorf("it is said that %s, but no case shows it", name)
		}
	}
}

// aggregateCase is a source with its members, sorted by cluster.
type aggregateCase struct {
	kind    aggregateKind
	source  *unstructured.Unstructured
	members []aggregate.Member
}

func (c aggregateCase) String() string {
	reports := map[string]string{}
	for _, m := range c.members {
		reports[m.Cluster] = string(m.Status)
	}
	return fmt.Sprintf("%s\n%v", encode(c.source), reports)
}

// karmada returns the status that Karmada gives the source.
func (c aggregateCase) karmada(interpreter *native.DefaultInterpreter) (map[string]any, error) {
	var items []workv1alpha2.AggregatedStatusItem
	for _, m := range c.members {
		item := workv1alpha2.AggregatedStatusItem{ClusterName: m.Cluster, Applied: true}
		if m.Status != nil {
			item.Status = &runtime.RawExtension{Raw: m.Status}
		}
		items = append(items, item)
	}
	result, err := interpreter.AggregateStatus(c.source.DeepCopy(), items)
	if err != nil {
		return nil, err
	}
	status, _ := result.Object["status"].(map[string]any)
	return status, nil
}

// compare returns how the two differ in more than is deliberate; empty if they do not.
func (c aggregateCase) compare(theirs, ours map[string]any, counts map[string]int) string {
	if c.source.GetKind() == "Job" && !c.isFinished() {
		return c.compareJobs(theirs, ours, counts)
	}
	fields := map[string]any{}
	maps.Copy(fields, theirs)
	maps.Copy(fields, ours)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if isSame(theirs[field], ours[field]) {
			continue
		}
		reason := c.explain(field, theirs[field], ours[field])
		if reason == "" {
			return fmt.Sprintf("%s: Karmada has %v, we have %v", field, theirs[field], ours[field])
		}
		counts[reason]++
	}
	return ""
}

// explain returns the deliberate difference that a field shows; empty if it is a mistake.
func (c aggregateCase) explain(field string, theirs, ours any) string {
	before := c.before()[field]
	switch {
	case field == "observedGeneration" && c.kind.sets(field):
		return c.explainObserved(ours)
	case field == "conditions" && c.source.GetKind() == "Deployment":
		if reflect.DeepEqual(without(before, "Available", "Progressing"), without(ours, "Available", "Progressing")) {
			return rolloutCondition
		}
	case field == "phase" && c.source.GetKind() == "PersistentVolumeClaim":
		if len(c.members) == 0 && ours == before || c.hasUnreported() && ours == "Pending" && theirs != "Lost" {
			return unbound
		}
	case field == "loadBalancer" && c.source.GetKind() == "Service":
		if reflect.DeepEqual(c.addressesWithMode(), ours) {
			return addressMode
		}
	case c.sum(field) > math.MaxInt32 && ours == int64(math.MaxInt32):
		return saturated
	case !c.kind.sets(field) && theirs == nil && reflect.DeepEqual(before, ours):
		return kept
	}
	return ""
}

// explainObserved computes what we should have. Karmada's is another.
func (c aggregateCase) explainObserved(ours any) string {
	want, reason := any(c.source.GetGeneration()), ""
	switch kind := c.source.GetKind(); {
	case len(c.members) == 0:
		want, reason = c.before()["observedGeneration"], noMembers
	case slices.ContainsFunc(c.members, func(m aggregate.Member) bool {
		return m.Generation > 0 && decodeReport(m)["resourceTemplateGeneration"] > m.Generation
	}):
		want, reason = c.before()["observedGeneration"], earlierObject
	case kind == "StatefulSet":
		reason = statefulSets
		for _, m := range c.members {
			r := decodeReport(m)
			if m.Status == nil || r["resourceTemplateGeneration"] < m.Generation || r["observedGeneration"] != 0 && r["observedGeneration"] < r["generation"] {
				want = c.before()["observedGeneration"]
			}
		}
	case kind == "Deployment":
		for _, m := range c.members {
			if r := decodeReport(m); r["replicas"] < r["availableReplicas"]+r["unavailableReplicas"] {
				want, reason = c.before()["observedGeneration"], notBegun
			}
		}
	}
	if !reflect.DeepEqual(want, ours) {
		return ""
	}
	return reason
}

// addressesWithMode returns what Karmada would make of reports of members that set the mode.
func (c aggregateCase) addressesWithMode() any {
	var all corev1.ServiceStatus
	for _, m := range c.members {
		var r corev1.ServiceStatus
		if m.Status == nil || json.Unmarshal(m.Status, &r) != nil {
			continue
		}
		for _, address := range r.LoadBalancer.Ingress {
			if mode := corev1.LoadBalancerIPModeVIP; address.IP != "" && address.IPMode == nil {
				address.IPMode = &mode
			}
			all.LoadBalancer.Ingress = append(all.LoadBalancer.Ingress, address)
		}
	}
	all.LoadBalancer.Ingress = helper.DedupeAndSortServiceLoadBalancerIngress(all.LoadBalancer.Ingress)
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&all)
	if err != nil {
		return err
	}
	return encoded["loadBalancer"]
}

// compareJobs compares the unfinished: all that is final differs.
func (c aggregateCase) compareJobs(theirs, ours map[string]any, counts map[string]int) string {
	before := c.before()
	start, hasFailed := ours["startTime"], conditionOf(theirs["conditions"], "Failed") != nil
	for _, field := range []string{"active", "succeeded", "failed", "startTime", "completionTime"} {
		a, b := theirs[field], ours[field]
		switch {
		case isSame(a, b):
		case c.sum(field) > math.MaxInt32 && b == int64(math.MaxInt32):
			counts[saturated]++
		case (field == "succeeded" || field == "failed") && b == before[field] && b.(int64) > c.sum(field):
			counts[counters]++
		case field == "startTime" && a == nil && (hasFailed || conditionOf(before["conditions"], "FailureTarget") != nil):
			counts[failureStart]++
		case field == "completionTime" && b == nil && conditionOf(ours["conditions"], "Complete") == nil:
			counts[noEnd]++
		default:
			return fmt.Sprintf("%s: Karmada has %v, we have %v", field, a, b)
		}
	}
	for field := range ours {
		if !c.kind.sets(field) && field != "conditions" {
			if !reflect.DeepEqual(ours[field], before[field]) {
				return field + " is changed"
			}
			counts[kept]++
		}
	}
	active, _ := ours["active"].(int64)
	return c.compareEnds(theirs["conditions"], ours["conditions"], start != nil && active == 0, counts)
}

// compareEnds compares the conditions of Jobs that Karmada has not seen finish before.
func (c aggregateCase) compareEnds(theirs, ours any, mayFinish bool, counts map[string]int) string {
	before := c.before()["conditions"]
	ends := []string{"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"}
	if !reflect.DeepEqual(without(before, ends...), without(ours, ends...)) {
		return fmt.Sprintf("other conditions: before %v, after %v", before, ours)
	}
	if len(without(ours, ends...)) > 0 {
		counts[kept]++
	}
	failed, complete := conditionOf(theirs, "Failed"), conditionOf(theirs, "Complete")
	ourFailed, ourComplete := conditionOf(ours, "Failed"), conditionOf(ours, "Complete")
	hadTarget := conditionOf(before, "FailureTarget") != nil
	switch {
	case failed != nil:
		counts[failureTarget]++
		if !mayFinish {
			counts[failingOnly]++
		}
		if !saysSame(failed, conditionOf(ours, "FailureTarget")) || mayFinish && !saysSame(failed, ourFailed) || !mayFinish && ourFailed != nil {
			return fmt.Sprintf("Karmada has failed with %v, we have %v", theirs, ours)
		}
	case hadTarget:
		counts[failureStays]++
		if ourComplete != nil || (ourFailed != nil) != mayFinish {
			return fmt.Sprintf("after FailureTarget, may finish is %v, and we have %v", mayFinish, ours)
		}
	case complete != nil && mayFinish && c.allEnded():
		if conditionOf(theirs, "SuccessCriteriaMet") == nil {
			counts[criteriaMet]++
		}
		if !saysSame(complete, ourComplete) || conditionOf(ours, "SuccessCriteriaMet") == nil {
			return fmt.Sprintf("Karmada has completed with %v, we have %v", theirs, ours)
		}
	case complete != nil:
		counts[notComplete]++
		if ourComplete != nil {
			return fmt.Sprintf("we have %v, which an API server refuses", ours)
		}
	case ourFailed != nil || ourComplete != nil:
		return fmt.Sprintf("Karmada has %v, we have %v", theirs, ours)
	}
	return ""
}

func (c aggregateCase) before() map[string]any {
	status, _ := c.source.Object["status"].(map[string]any)
	return status
}

func (c aggregateCase) isFinished() bool {
	conditions := c.before()["conditions"]
	return conditionOf(conditions, "Complete") != nil || conditionOf(conditions, "Failed") != nil
}

// allEnded reports whether all members have a completionTime.
func (c aggregateCase) allEnded() bool {
	for _, m := range c.members {
		var r struct{ CompletionTime *time.Time }
		if json.Unmarshal(m.Status, &r) != nil || r.CompletionTime == nil {
			return false
		}
	}
	return true
}

// hasUnreported reports whether a member has reported nothing.
func (c aggregateCase) hasUnreported() bool {
	return slices.ContainsFunc(c.members, func(m aggregate.Member) bool { return m.Status == nil })
}

// sum adds up a count without a limit.
func (c aggregateCase) sum(field string) (total int64) {
	for _, m := range c.members {
		total += decodeReport(m)[field]
	}
	return total
}

func (c aggregateCase) hasNegative() bool {
	for _, m := range c.members {
		for _, n := range decodeReport(m) {
			if n < 0 {
				return true
			}
		}
	}
	return false
}

// isSame compares two fields. Karmada omits what is empty if nothing else has changed.
func isSame(a, b any) bool {
	return reflect.DeepEqual(a, b) || isEmpty(a) && isEmpty(b)
}

func isEmpty(value any) bool {
	fields, isMap := value.(map[string]any)
	return value == nil || value == int64(0) || isMap && len(fields) == 0
}

// decodeReport returns the numbers that a member reports.
func decodeReport(m aggregate.Member) map[string]int64 {
	var fields map[string]any
	numbers := map[string]int64{}
	if m.Status == nil || json.Unmarshal(m.Status, &fields) != nil {
		return numbers
	}
	for field, value := range fields {
		if n, ok := value.(float64); ok {
			numbers[field] = int64(n)
		}
	}
	return numbers
}

// conditionOf returns a condition that is True.
func conditionOf(conditions any, kind string) map[string]any {
	list, _ := conditions.([]any)
	for _, item := range list {
		if c := item.(map[string]any); c["type"] == kind && c["status"] == "True" {
			return c
		}
	}
	return nil
}

// without returns the conditions of all other types.
func without(conditions any, kinds ...string) (rest []any) {
	list, _ := conditions.([]any)
	for _, item := range list {
		if kind, _ := item.(map[string]any)["type"].(string); !slices.Contains(kinds, kind) {
			rest = append(rest, item)
		}
	}
	return rest
}

// saysSame compares all but types and times: Karmada's are those of its clock.
func saysSame(a, b map[string]any) bool {
	for _, field := range []string{"status", "reason", "message"} {
		if a[field] != b[field] {
			return false
		}
	}
	return true
}
