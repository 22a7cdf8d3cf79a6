package gather

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/memory"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestUnshown: a command that follows the Works, such as status -w, sees an Event that comes later. To a user who
// may not read Events, what the Work says counts, and the Events are named as hidden.
func TestUnshown(t *testing.T) {
	page := sample.Work(sample.Asking("1", "m1"), "m1", sample.Applied("True"), sample.Generation(2))
	const older = 7
	page.SetResourceVersion(fmt.Sprint(older + 1))
	works := map[string]*state.Work{"m1": state.NewWork(page)}
	now := works["m1"].Written().Add(time.Minute)
	event := func(version int, seconds time.Duration) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Event", "reason": "SyncSucceed",
			"metadata":       map[string]any{"namespace": page.GetNamespace(), "name": fmt.Sprint("e", version), "resourceVersion": fmt.Sprint(version)},
			"involvedObject": map[string]any{"kind": "Work", "name": page.GetName(), "uid": string(page.GetUID())},
			"lastTimestamp":  works["m1"].Written().Add(seconds * time.Second).UTC().Format(time.RFC3339),
		}}
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{state.ClustersResource: "ClusterList", state.EventsResource: "EventList"}, event(older, -10))
	reader, err := NewReader(t.Context(), client, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, after time.Duration, want bool) {
		t.Helper()
		s := &reading{Reader: reader, ctx: t.Context()}
		if _, is := s.unshown(works, now.Add(after))["m1"]; s.err != nil || is != want {
			t.Errorf("%s: unshown %t, %v", what, is, s.err)
		}
	}
	want("the Event is about the content before", 0, true)
	if _, err := client.Resource(state.EventsResource).Namespace(page.GetNamespace()).Create(t.Context(), event(older+5, 0), metav1.CreateOptions{}); err != nil { // in the same second
		t.Fatal(err)
	}
	want("it was read just now", time.Second, true)
	want("a newer one has come", appliedAge, false)
	client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(state.EventsResource.GroupResource(), "", nil)
	})
	want("Events are forbidden", time.Minute, false)
	if hidden := fmt.Sprint(reader.Hidden()); !strings.Contains(hidden, "the Events in namespace "+render.ExecutionNamespace("m1")) {
		t.Errorf("hidden: %s", hidden)
	}
	want("it was written long ago", memory.EventTTL, false)
}
