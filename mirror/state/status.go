package state

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// Report is what a Work says of the status of its object in the member. It is kept apart from
// the Work, and only for kinds whose statuses are aggregated.
type Report struct {
	// Work and Version are the UID and the resource version of the Work, and Created is when it was
	// created.
	Work    types.UID
	Version string
	Created time.Time
	// Source is the UID of the source from which the Work says that it was made.
	Source string
	// Renewed: Karmada has reported something else since the Work was first seen to be made from this
	// source, or what it reports was believed since. Only who saw that knows.
	Renewed bool
	// Written is when the Work was last written, by the API server's clock, and Seen when that was first seen,
	// by the local one; zero if no one has followed it.
	Written, Seen time.Time
	// Reported is when Karmada last reported something, by the API server's clock. FailedSince is since when it has been seen to say that
	// a Work is not applied that was, with this content, by the local one; zero if it does not, or no one has followed it.
	Reported, FailedSince time.Time
	// Generation is that of the source from which the Work was made; 0 if it does not say.
	Generation int64
	// Suspended: Karmada does not apply the Work, and Applied: it has tried to before. Failed: it says that it is not applied.
	Suspended, Applied, Failed bool
	// Ran: since the Work is made from this source, a Job has been seen that had not ended.
	Ran bool
	// Idle: the Work carries a Job that has nothing to do in the member.
	Idle bool
	// Unhealthy: so Karmada calls the object.
	Unhealthy bool
	// Status is the status of the object as JSON; nil if Karmada has not reported one.
	Status []byte
}

// NewReport returns what a Work says of its object.
func NewReport(work *unstructured.Unstructured) *Report {
	r := &Report{Work: work.GetUID(), Version: work.GetResourceVersion(), Created: work.GetCreationTimestamp().Time, Status: encodeStatus(ReportedBy(work))}
	r.Source, r.Written = work.GetAnnotations()[render.SourceUIDAnnotation], lastWritten(work).time()
	r.Reported = lastOf(work, "status")
	r.Generation, r.Suspended, r.Applied = generationOf(work), dispatchStateOf(work) == WorkSuspended, AppliedCondition(work) != nil
	r.Unhealthy, r.Failed = reportedHealth(work) == unhealthy, dispatchStateOf(work) == WorkFailed
	r.Ran = r.Status != nil && r.Applied && !reportsFinishedJob(work)
	if manifest, err := render.ManifestOf(work.Object); err == nil {
		r.Idle = aggregate.IsIdle(render.CarriedBy(work.Object).GroupKind(), manifest)
	}
	return r
}

// generationOf returns the generation of the source from which a Work was made; 0 if it does not say.
func generationOf(work *unstructured.Unstructured) int64 {
	manifest, err := render.ManifestOf(work.Object)
	if err != nil {
		return 0
	}
	return render.GenerationOf(manifest)
}

// ReportedBy returns the status that Karmada reports on a Work; nil if there is none. A Work of
// ours has one manifest, and so at most one status.
func ReportedBy(work *unstructured.Unstructured) map[string]any {
	status, _ := reportOn(work)["status"].(map[string]any)
	return status
}

// memberGenerationOf returns the generation of the object in the member, modulo 2³²: of most workloads, Karmada reports it, and of
// others the one that a controller has observed there. It is 0 if Karmada reports neither.
func memberGenerationOf(work *unstructured.Unstructured) uint32 {
	status, field := ReportedBy(work), "observedGeneration"
	if _, isKarmadas := status["resourceTemplateGeneration"]; isKarmadas { // it adds both
		field = "generation"
	}
	n, _ := status[field].(int64)
	return uint32(n)
}

// EditsInMember returns how often the object of a Work was edited in its member since another state of the Work, though the Work was
// not; 0 if that is not known.
func (w *Work) EditsInMember(since *Work) int {
	if w.UID != since.UID || w.Generation != since.Generation || since.memberGeneration == 0 || w.memberGeneration < since.memberGeneration {
		return 0
	}
	return int(w.memberGeneration - since.memberGeneration)
}

// ReportedAt returns when Karmada last reported something on a Work; zero if that is not known.
func ReportedAt(work *unstructured.Unstructured) time.Time { return lastOf(work, "status") }

// reportOn returns what Karmada reports on the only manifest of a Work; nil if there is none.
func reportOn(work *unstructured.Unstructured) map[string]any {
	reported, _, _ := unstructured.NestedFieldNoCopy(work.Object, "status", "manifestStatuses")
	list, _ := reported.([]any)
	if len(list) != 1 {
		return nil
	}
	of, _ := list[0].(map[string]any)
	return of
}

// advanceOf returns how far the member has got with what a Work carries.
func advanceOf(work *unstructured.Unstructured) (m specMarks) {
	advance, _ := memberAdvance(work)
	switch {
	case reportedHealth(work) == unhealthy, advance == aggregate.Behind:
		return behind
	case advance == aggregate.RolledOut && lastOf(work, "status").After(lastOf(work, nil)):
		return complete
	}
	return 0
}

func memberAdvance(work *unstructured.Unstructured) (a aggregate.Advance, lacks string) {
	manifest, err := render.ManifestOf(work.Object)
	if err != nil {
		return aggregate.Untold, ""
	}
	kind, replicas := render.CarriedBy(work.Object).GroupKind(), int64(0)
	if !render.OptionsOf(work.Object).RetainReplicas {
		replicas, _, _ = unstructured.NestedInt64(manifest, "spec", "replicas")
	}
	if aggregate.IsIdle(kind, manifest) {
		return aggregate.Untold, ""
	}
	return aggregate.AdvanceOf(kind, ReportedBy(work), render.GenerationOf(manifest), replicas)
}

// troubleOf returns what Karmada reports of an object that is not applied, healthy and rolled out;
// empty if it reports nothing of that kind. Of a condition that is the reason: its message quotes API
// servers and webhooks, which may repeat a Secret, and more people read Events than Secrets.
func troubleOf(work *unstructured.Unstructured) string {
	if applied := AppliedCondition(work); applied != nil && applied.Status != metav1.ConditionTrue {
		return applied.Reason
	}
	if reportedHealth(work) == unhealthy {
		return unhealthy
	}
	_, lacks := memberAdvance(work)
	return lacks
}

// unhealthy is what Karmada calls an object that it finds ill (ResourceHealth in
// pkg/apis/work/v1alpha2, v1.18.2).
const unhealthy = "Unhealthy"

// HealthOf returns the health that Karmada reports on a Work; empty if there is none. What ails by the status
// that is reported with it is not healthy, whatever Karmada calls it.
func HealthOf(work *unstructured.Unstructured) string {
	if aggregate.Ails(render.CarriedBy(work.Object).GroupKind(), ReportedBy(work)) != "" {
		return unhealthy
	}
	return reportedHealth(work)
}

func reportedHealth(work *unstructured.Unstructured) string {
	health, _ := reportOn(work)["health"].(string)
	return health
}

// JobKind is the kind whose objects end.
var JobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}

// reportsFinishedJob reports whether a Work carries a Job that has ended in the member. Karmada
// reports a Job's conditions (pkg/resourceinterpreter/default/native/reflectstatus.go, v1.18.2).
func reportsFinishedJob(work *unstructured.Unstructured) bool {
	if render.CarriedBy(work.Object).GroupKind() != JobKind {
		return false
	}
	status := ReportedBy(work)
	return aggregate.HasCondition(status, batchv1.JobComplete) || aggregate.HasCondition(status, batchv1.JobFailed)
}

// encodeStatus encodes a status; nil if there is none.
func encodeStatus(status any) []byte {
	fields, _ := status.(map[string]any)
	if fields == nil {
		return nil
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil // cannot happen: it was decoded from JSON
	}
	return encoded
}

// SourceStatus is what a source says of its own status. Like a Report, it is kept only for kinds
// whose statuses are aggregated.
type SourceStatus struct {
	ID         render.Identity
	UID        types.UID
	Version    string
	Generation int64
	Created    time.Time
	// Status is its status as JSON; nil if it has none.
	Status []byte
}

// NewSourceStatus returns what a source says of its own status.
func NewSourceStatus(u *unstructured.Unstructured) *SourceStatus {
	gvk := u.GroupVersionKind()
	return &SourceStatus{
		ID:  render.Identity{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()},
		UID: u.GetUID(), Version: u.GetResourceVersion(), Generation: u.GetGeneration(), Created: u.GetCreationTimestamp().Time, Status: encodeStatus(u.Object["status"]),
	}
}
