package state

import (
	"time"

	workv1alpha1 "github.com/karmada-io/api/work/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// EventsResource is the resource of Events.
var EventsResource = corev1.SchemeGroupVersion.WithResource("events")

// AppliedEvents selects the Events with which Karmada says that it has applied a Work: one is written each
// time, also where the status of the Work stays as it is (EventReasonSyncWorkSucceed in pkg/events/events.go,
// v1.18.2).
var AppliedEvents = fields.SelectorFromSet(fields.Set{"involvedObject.kind": workv1alpha1.ResourceKindWork, "reason": "SyncSucceed"}).String()

// Applied is what the cache keeps of such an Event.
type Applied struct {
	Meta
	// Work is the name of the Work, which is in the namespace of the Event, and WorkUID its UID.
	Work    string
	WorkUID types.UID
	// last is when Karmada last said so, by its clock.
	last seconds
}

// NewApplied reduces an Event to what the cache keeps of it.
func NewApplied(u *unstructured.Unstructured) *Applied {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(u.Object, fields...); return s }
	last, _ := time.Parse(time.RFC3339, text("lastTimestamp"))
	return &Applied{Meta: keepMeta(u), Work: text("involvedObject", "name"), WorkUID: types.UID(text("involvedObject", "uid")), last: secondsOf(last)}
}

// IsAfter reports whether the Event is about a Work, and newer than a resource version of it.
func (a *Applied) IsAfter(w *Work, version string) bool {
	return a != nil && a.WorkUID == w.UID && IsOlder(version, a.ResourceVersion)
}

// IsLater reports whether the Event is about a Work, and later than the last write to it, by the clocks of
// Karmada and the API server.
func (a *Applied) IsLater(w *Work) bool {
	return a != nil && a.WorkUID == w.UID && a.last.time().After(w.Written())
}

// DeepCopyObject implements runtime.Object.
func (a *Applied) DeepCopyObject() runtime.Object { return new(*a) }
