package gather

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/watch"
)

// TestRecentReads: a read is reused for a second, unless the cache has seen something newer.
func TestRecentReads(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{state.ClustersResource: "ClusterList"}, sample.Cluster("m1", ""))
	clusters := watch.New(watch.Options{
		Resource: watch.In(state.ClustersResource), Resolver: watch.Fixed{Resource: state.ClustersResource}, Client: client,
		Transform: watch.Keep(state.NewCluster), Logger: zap.NewNop(), Clock: clock.RealClock{},
		Handler: watch.Handler{Changed: func(any, any) {}, Synced: func() {}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { clusters.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	if !cache.WaitForCacheSync(ctx.Done(), func() bool { return clusters.Status().Synced }) {
		t.Fatal("the cache is not complete")
	}
	reads := 0
	time, late := clocktesting.NewFakeClock(sample.Created), 0*recentPeriod
	client.PrependReactor("get", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) {
		reads++
		time.Step(late)
		return false, nil, nil
	})
	l := newRecentReads(client, time)
	look := func(want int, when string) {
		t.Helper()
		reads = 0
		got, err := l.get(t.Context(), clusters, "m1", func(u *unstructured.Unstructured) kept { return state.NewCluster(u) })
		if _, isReduced := got.(*state.Cluster); !isReduced || err != nil {
			t.Fatal(got, err)
		}
		if reads != want {
			t.Errorf("%d reads %s, want %d", reads, when, want)
		}
	}
	look(1, "at first")
	look(0, "of what is current")
	time.Step(recentPeriod + 1)
	look(1, "after a while")
	older := sample.Cluster("m1", "")
	older.SetResourceVersion("4") // the cache has seen 5
	l.read.Set(state.ClustersResource.String()+"/m1", state.NewCluster(older), recentPeriod)
	look(1, "of what is known to have changed")
	time.Step(recentPeriod + 1)
	late = 2 * recentPeriod
	look(1, "of an API server that answers slowly")
	look(1, "whose answer is as old as its question")
}
