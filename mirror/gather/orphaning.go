package gather

import (
	"time"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// Karmada completes the deletion of a Work that preserves its object only if the member has
// that object: it removes its labels from it first, and retries forever if it is not found
// (cleanupPolicyClaimMetadata in pkg/controllers/execution/execution_controller.go, v1.18.2).
// Meanwhile the name of the Work is taken, even for a binding that needs it. So such a deletion
// counts as stalled after a while.
const (
	// orphaningLimit is for a Work that Karmada has not applied, or leaves alone: the member may
	// well lack its object. It is longer than Karmada takes to notice that a cluster is not ready
	// (--cluster-failure-threshold, 30 s, and --cluster-monitor-grace-period, 40 s).
	orphaningLimit = time.Minute
	// orphaningLimitInPlace is for all others, whose labels Karmada may just not have had the time
	// to remove: it writes to its own API server 40 times a second (--kube-api-qps), for all
	// clusters together.
	orphaningLimitInPlace = 5 * time.Minute
)

// stallsOf returns how long Karmada may still take on each cluster to part a Work from its
// object; 0 if it has had enough time. Clusters where nothing can be parted are missing.
func (c *Caches) stallsOf(works map[string]*state.Work, now time.Time) map[string]time.Duration {
	var stalls map[string]time.Duration // rarely needed
	for name, w := range works {
		if cluster := c.Cluster(name); !w.IsOrphaning() || cluster == nil || !cluster.IsReady {
			continue
		}
		if stalls == nil {
			stalls = map[string]time.Duration{}
		}
		stalls[name] = c.orphaningTime(w, now)
	}
	return stalls
}

// orphaningTime returns how long Karmada may still take to part a Work from its object on a cluster
// that is ready. It may start over when the cluster comes back.
func (c *Caches) orphaningTime(w *state.Work, now time.Time) time.Duration {
	since, limit := c.options.Memory.Orphaning(w, now), orphaningLimit
	if returned := c.options.Memory.ReturnSeen(w.Cluster); returned.After(since) {
		since = returned
	}
	if w.IsInPlace() {
		limit = orphaningLimitInPlace
	}
	return max(0, limit-now.Sub(since))
}
