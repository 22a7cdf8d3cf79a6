package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// withFaults plays with three daemons on three API servers, between which everything fails.
func withFaults() *scene {
	s := *onAPIServer
	s.replicas, s.steps = 3, maps.Clone(onAPIServer.steps)
	maps.Copy(s.steps, choices{"fail": 20, "cut": 8, "unreachable": 3, "deny": 4, "truncate": 3, "lag": 8, "connect": 6, "silence": 3, "restore": 3})
	return &s
}

// withClocks is withFaults where the API servers' clock is set instead of etcd. After that, override policies may count as gone with their
// definition, whose age is what tells, so there are none.
func withClocks() *scene {
	s := withFaults()
	s.steps["clock"] = 6
	maps.DeleteFunc(s.steps, func(step string, _ int) bool { return step == "restore" || strings.HasPrefix(step, "override") })
	return s
}

// failures are what becomes of requests.
func failures() map[string]fault.Fault {
	any := schema.GroupResource{Resource: "things"}
	return map[string]fault.Fault{
		"lost": fault.Reset(), "carried out without an answer": fault.LoseAnswer(), "hangs": fault.Delay(4 * time.Second),
		"409": fault.Refuse(apierrors.NewConflict(any, "it", errors.New("it has changed"))), "429": fault.Refuse(apierrors.NewTooManyRequests("busy", 1)),
		"500": fault.Refuse(apierrors.NewInternalError(errors.New("broken"))), "504": fault.Refuse(apierrors.NewTimeoutError("slow", 0)),
	}
}

// faultDrawers draw the steps of withFaults.
var faultDrawers = map[string]func(*rapid.T, *scene) step{
	"fail": func(t *rapid.T, s *scene) step {
		i, as := s.drawReplica(t), rapid.SampledFrom(slices.Sorted(maps.Keys(failures()))).Draw(t, "as")
		verb := rapid.SampledFrom([]string{"get", "list", "watch", "create", "patch", "update", "delete", ""}).Draw(t, "verb")
		resource := rapid.SampledFrom(append(watched, works.Resource, works.Resource, "events", leases.Resource, "")).Draw(t, "resource")
		share := rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "share")
		return step{fmt.Sprintf("%d %s %s of %s, a share of %.1f", i, as, verb, resource, share), func(m *machine) error {
			m.blinded, m.heldBack = true, m.heldBack+4*time.Second
			m.replicas[i].pass(fault.Match{Verb: verb, Resource: resource, Share: share}, failures()[as])
			return nil
		}}
	},
	"cut": func(t *rapid.T, s *scene) step {
		i, resource := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource")
		return step{fmt.Sprintf("%d %s", i, resource), func(m *machine) error { m.replicas[i].layer.End(watchOf(resource)); return nil }}
	},
	"unreachable": func(t *rapid.T, s *scene) step {
		i := s.drawReplica(t)
		return step{fmt.Sprintf("for %d, until it is quiet", i), func(m *machine) error { m.blinded = true; m.replicas[i].layer.Cut(); return nil }}
	},
	"deny": func(t *rapid.T, s *scene) step {
		cluster := s.drawCluster(t)
		return step{"Works of " + cluster, func(m *machine) error { m.denying.Store("karmada-es-" + cluster); return nil }}
	},
	"silence": func(t *rapid.T, s *scene) step { // a watch that does not end and shows nothing
		i, resource := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource")
		return step{fmt.Sprintf("%d %s", i, resource), func(m *machine) error { m.blinded = true; m.replicas[i].silence(resource); return nil }}
	},
	"clock": func(t *rapid.T, _ *scene) step {
		ahead := rapid.SampledFrom([]time.Duration{-time.Hour, -10 * time.Second, 0, 10 * time.Second, time.Hour}).Draw(t, "ahead")
		return step{fmt.Sprintf("of the API servers, %s ahead", ahead), func(m *machine) error { m.store.SetSkew(ahead); return nil }}
	},
	"restore": func(*rapid.T, *scene) step {
		return step{"etcd as it was at some quiet moment", (*machine).restore}
	},
	"truncate": func(t *rapid.T, s *scene) step {
		i, resource, most := s.drawReplica(t), rapid.SampledFrom(watched).Draw(t, "resource"), rapid.IntRange(0, 3).Draw(t, "most")
		return step{fmt.Sprintf("%d restarts, and lists only %d %s", i, most, resource), func(m *machine) error { m.blinded = true; m.replicas[i].restartTruncated(resource, most); return nil }}
	},
}

func (s *scene) drawReplica(t *rapid.T) int {
	return rapid.IntRange(0, max(2, s.replicas)-1).Draw(t, "replica")
}

// silence drops the events of a watch. The daemon is restarted when it is quiet: no client can know what it has missed.
func (r *replica) silence(resource string) {
	r.pass(watchOf(resource), fault.Silence())
	r.isMisled = true
	r.layer.End(watchOf(resource))
}

// restartTruncated restarts the daemon with lists that end too early.
func (r *replica) restartTruncated(resource string, most int) {
	r.stop()
	r.start()
	list := watchOf(resource)
	list.Verb = "list"
	r.pass(list, fault.Truncate(most))
	r.pass(watchOf(resource), fault.Truncate(most))
	r.isMisled = true
}

// backup is etcd, and what users had applied, at a quiet moment.
type backup struct {
	etcd     apiserver.Snapshot
	revision int64
	then     *moment
	settings settings
	going    map[string]bool
}

// keep makes a backup, unless there is one that can still be used.
func (m *machine) keep() {
	if m.backup.then != nil && m.store.Revision() < m.backup.revision+4*restoreWrites {
		return
	}
	m.backup = backup{m.store.Snapshot(), m.store.Revision(), m.history[len(m.history)-1], m.settings, maps.Clone(m.going)}
}

// restoreTime is how long the daemons may take to notice that etcd was restored, and restoreWrites more than is written
// meanwhile by those that elect a leader: if versions have caught up, no one notices (docs/reliability.md).
const (
	restoreTime   = 15 * time.Second
	restoreWrites = 100
)

// restore restores etcd from the backup, if that will be noticed, and waits until it is.
func (m *machine) restore() error {
	b := m.backup
	if b.then == nil || m.store.Revision() < b.revision+restoreWrites {
		return nil
	}
	m.settings, m.going, m.blinded = b.settings, maps.Clone(b.going), true
	err := m.restored(b.etcd, b.then)
	time.Sleep(restoreTime)
	m.each(func(r *replica) { r.revive(); r.complaints() }) // what sweeps have found was no event
	return err
}

// deny is a webhook that denies to write Works of a cluster.
func (m *machine) deny(op string, gr schema.GroupResource, subresource string, new, old apiserver.Object) (apiserver.Object, error) {
	work := &unstructured.Unstructured{Object: new}
	if gr != works || subresource != "" || op == "DELETE" || work.GetNamespace() != m.denying.Load() || old != nil && hasSame(work, &unstructured.Unstructured{Object: old}, "spec") {
		return new, nil
	}
	return nil, apierrors.NewForbidden(works, work.GetName(), errors.New("a webhook has denied it"))
}
