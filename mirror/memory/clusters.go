package memory

import (
	"sync"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// clusters is what is remembered of the clusters. One goroutine notes what becomes of them.
type clusters struct {
	clock clock.Clock
	// records has one of each cluster, by name, which a change replaces.
	records sync.Map
	// flaps delays what a return wakes, by cluster.
	flaps *flowcontrol.Backoff
}

// cluster is what is remembered of a cluster. Do not change it.
//
//	field     since                   until                              what a restart loses
//	last      the watch shows it      it has left                        –
//	returned  it came back            it has left; it is recent for      what the Cluster says of it stands in: it counts
//	                                  maxExecutionBackoff                from the cluster's time, and had been away for long
//	had       its labels changed      relabelPeriod                      waves do not wait for its former labels
type cluster struct {
	last     *state.Cluster
	returned seenRecovery
	had      []labelling
}

func newClusters(c clock.Clock) clusters {
	flaps := flowcontrol.NewBackOff(wakeDelay, maxWakeDelay)
	flaps.Clock = c
	return clusters{clock: c, flaps: flaps}
}

func (c *clusters) cluster(name string) cluster {
	known, _ := c.records.Load(name)
	r, _ := known.(cluster)
	return r
}

// NoteCluster notes what becomes of a cluster: call it before its sources are looked at. The labels of one that has left are
// known until ForgetCluster.
func (m *Memory) NoteCluster(before, after *state.Cluster) {
	if after == nil {
		m.flaps.DeleteEntry(before.Name)
		m.records.Store(before.Name, cluster{had: m.cluster(before.Name).had})
		return
	}
	known := m.cluster(after.Name)
	known.last = after
	if before != nil {
		known.returned, known.had = m.returnedAfter(known, before), m.hadAfter(known, before)
		if after.IsOtherwiseReady(before) {
			m.markUnreachable(after.Name)
		}
	}
	m.records.Store(after.Name, known)
}

// ForgetCluster forgets a cluster that has left.
func (c *clusters) ForgetCluster(name string) { c.records.Delete(name) }

// notedBefore returns what was last noted of a cluster, if the cache is ahead of that; nil if it is not.
func (c *clusters) notedBefore(now *state.Cluster) *state.Cluster {
	if last := c.cluster(now.Name).last; last != now {
		return last
	}
	return nil
}
