package cli

import (
	"cmp"
	"fmt"
	"slices"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// clustersStatus sums up the lines of a source.
type clustersStatus struct {
	// Total is how many clusters have a line.
	Total int `json:"total"`
	// Applied is in how many of them Karmada has applied the Work, and Healthy in how many it
	// reports the object as healthy.
	Applied int `json:"applied"`
	Healthy int `json:"healthy"`
	// Ready and Wanted are the sums over all Works; nil if they are not known for each.
	Ready  *int64 `json:"ready,omitempty"`
	Wanted *int64 `json:"wanted,omitempty"`
	// CreationTimestamp is that of the oldest Work; nil if there is none.
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`
	// Wave is the first wave that has not come through; nil if all have, or if there are none.
	Wave *waveStatus `json:"wave,omitempty"`
	// applied and health are the worst, for the table.
	applied, health string `json:"-"`
}

// waveStatus is how far one wave of clusters has come.
type waveStatus struct {
	// Number counts the waves from 1; Of is how many there are.
	Number int `json:"number"`
	Of     int `json:"of"`
	// Clusters is how many clusters of it count, and Done how many have come through.
	Clusters int `json:"clusters"`
	Done     int `json:"done"`
}

// sumOf returns a line that sums up those of a source in several clusters.
func sumOf(id render.Identity, lines []mirrorStatus, v judge.Verdict) mirrorStatus {
	sum := newStatusLine(id)
	sum.Clusters = &clustersStatus{Total: len(lines)}
	var applied, healths []string
	for _, line := range lines {
		w := line.Work
		if w == nil {
			w = &workStatus{}
		}
		applied, healths = append(applied, w.Applied), append(healths, w.Health)
		if oldest := sum.Clusters.CreationTimestamp; line.Work != nil && (oldest == nil || w.CreationTimestamp.Before(oldest)) {
			sum.Clusters.CreationTimestamp = &w.CreationTimestamp
		}
	}
	sum.Clusters.Applied = count(applied, string(metav1.ConditionTrue))
	sum.Clusters.Healthy = count(healths, string(workv1alpha1.ResourceHealthy))
	sum.Clusters.Ready = totalOf(lines, func(w *workStatus) *int64 { return w.Ready })
	sum.Clusters.Wanted = totalOf(lines, func(w *workStatus) *int64 { return w.Wanted })
	sum.Clusters.applied = cmp.Or(cellOfAny(lines, laterCell), cellOfAny(lines, suspendedCell))
	if failed := worst(applied, string(metav1.ConditionFalse)); sum.Clusters.applied == "" || failed == string(metav1.ConditionFalse) {
		sum.Clusters.applied = failed
	}
	sum.Clusters.health = worst(healths, string(workv1alpha1.ResourceUnhealthy))
	sum.Message = messageOfAll(lines, v.Refusals)
	if wave := v.Rollout.Current(); wave != nil {
		sum.Clusters.Wave = &waveStatus{wave.Number, v.Rollout.Of, len(wave.Clusters), wave.Done}
		if len(v.Refusals) == 0 {
			sum.Message = oneLine(fmt.Sprintf("wave %d of %d: %s; done: %d of %d clusters (%s)", wave.Number, v.Rollout.Of, wave.WaitsFor(), wave.Done, len(wave.Clusters), wave.Text))
		}
	}
	return sum
}

// cellOfAny returns a word of the column APPLIED if some line has it.
func cellOfAny(lines []mirrorStatus, cell string) string {
	if slices.ContainsFunc(lines, func(line mirrorStatus) bool { return line.appliedCell() == cell }) {
		return cell
	}
	return ""
}

// totalOf adds up a number; nil if it is not known for each Work, or if there is no Work.
func totalOf(lines []mirrorStatus, number func(*workStatus) *int64) (total *int64) {
	for _, line := range lines {
		switch {
		case line.Work == nil:
			continue
		case number(line.Work) == nil:
			return nil
		case total == nil:
			total = new(int64)
		}
		*total += *number(line.Work)
	}
	return total
}

func count(values []string, value string) (n int) {
	for _, v := range values {
		if v == value {
			n++
		}
	}
	return n
}

// worst returns the bad value if it is among the values, or the one that all have; otherwise Unknown.
func worst(values []string, bad string) string {
	switch {
	case count(values, bad) > 0:
		return bad
	case count(values, values[0]) == len(values):
		return values[0]
	}
	return string(metav1.ConditionUnknown)
}

// messageOfAll returns why the source is refused or, if it is not, what is not as expected in some
// clusters.
func messageOfAll(lines []mirrorStatus, refusals []judge.Refusal) string {
	if len(refusals) > 0 {
		return refusalText(refusals[0])
	}
	var messages []string
	for _, line := range lines {
		if line.Message != "" {
			messages = append(messages, line.Message)
		}
	}
	if len(messages) == 0 {
		return ""
	}
	first := fmt.Sprintf("%d of %d clusters", len(messages), len(lines))
	if count(messages, messages[0]) < len(messages) {
		first += ", for example"
	}
	return first + ": " + messages[0]
}

func refusalText(r judge.Refusal) string { return oneLine(string(r.Reason) + ": " + r.Message) }
