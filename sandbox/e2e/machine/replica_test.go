package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/fault"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

// watched are the resources whose watches are held back and cut.
var watched = []string{"configmaps", "deployments", "horizontalpodautoscalers", "namespaces", "clusters", "works", "overridepolicies", "clusteroverridepolicies"}

// theConfiguration stands for the ConfigMap with the configuration, among the resources whose
// watches are held back.
const theConfiguration = "configuration"

// replica is one of two daemons, with a proxy between it and the API server. When it has
// ended it is restarted, as a Deployment would.
type replica struct {
	name   string
	proxy  *fault.Proxy
	gates  map[string]*fault.Gate
	rules  map[string]*fault.Rule // of the gates
	daemon *process.Daemon
	// passing are rules that are removed at the next quiet moment.
	passing []*fault.Rule
	// past are the complaints about earlier daemons.
	past []string
	// lost counts the daemons that ended because they had lost their Lease.
	lost int
}

func newReplica(t *testing.T, name string) *replica {
	r := &replica{name: name, proxy: e2e.StartProxy(t), gates: map[string]*fault.Gate{}, rules: map[string]*fault.Rule{}}
	for _, resource := range append(slices.Clone(watched), theConfiguration) {
		r.gates[resource] = fault.NewGate()
		r.hang(resource)
	}
	t.Cleanup(r.settle)
	return r
}

// watchOf matches the requests that watch a resource in all namespaces, or the configuration.
func watchOf(resource string) fault.Match {
	if resource == theConfiguration {
		return fault.Match{Verb: "watch", Resource: e2e.ConfigMaps.Resource, Namespace: e2e.System}
	}
	return fault.Match{Verb: "watch", Resource: resource, AllNamespaces: true}
}

// hang puts a gate into the watch of its resource.
func (r *replica) hang(resource string) {
	r.rules[resource] = r.proxy.Inject(watchOf(resource), r.gates[resource].Events())
}

// expire ends a watch, and answers the next ones that they are too old.
func (r *replica) expire(resource string) {
	r.rules[resource].Remove()
	delete(r.rules, resource)
	r.pass(watchOf(resource), fault.Expire())
	r.proxy.End(watchOf(resource))
}

// pass injects a fault that ends at the next quiet moment.
func (r *replica) pass(m fault.Match, f fault.Fault) {
	r.passing = append(r.passing, r.proxy.Inject(m, f))
}

// settle ends all faults.
func (r *replica) settle() {
	for _, rule := range r.passing {
		rule.Remove()
	}
	r.passing = nil
	for resource, gate := range r.gates {
		gate.Open()
		if r.rules[resource] == nil {
			r.hang(resource)
		}
	}
}

// underWay counts the unanswered requests that may lead to a write.
func (r *replica) underWay() (n int) {
	for _, resource := range watched {
		for _, verb := range []string{"get", "list", "create", "patch", "delete"} {
			n += r.proxy.Open(fault.Match{Verb: verb, Resource: resource})
		}
	}
	return n
}

// begin starts the first daemon of a machine.
func (r *replica) begin() error {
	r.past = nil
	return r.start()
}

func (r *replica) start() (err error) {
	r.daemon, err = process.StartDaemon(process.DaemonOptions{
		Program: []string{e2e.Env.Daemon}, Kubeconfig: r.proxy.Kubeconfig(),
		Flags: []string{
			"--holder-identity", r.name, "--log-level", "debug", "--resync-period", "2s", "--deletion-settle-period", settlePeriod.String(), "--least-wave-bake", "100ms", "--list-deadline", "5s",
			"--leader-elect-lease-duration", "4s", "--leader-elect-renew-deadline", "3s", "--leader-elect-retry-period", "500ms",
		},
		Environment: []string{"GORACE=halt_on_error=1", "KUBE_CACHE_MUTATION_DETECTOR=true"},
	})
	// Before its first log line it does not handle signals yet.
	for err == nil && r.daemon.Logged("starting") == 0 && !r.daemon.HasEnded() {
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// kill ends the daemon as a power cut would, and restart asks it to end; both start it
// again.
func (r *replica) kill() error {
	if err := r.die(); err != nil {
		return err
	}
	return r.start()
}

// die kills the daemon and does not start it again.
func (r *replica) die() error {
	r.past = r.complaints()
	return r.daemon.Kill()
}

func (r *replica) restart() error {
	if err := r.stop(); err != nil {
		return err
	}
	return r.start()
}

// stop asks the daemon to end, if it has not lost its Lease already.
func (r *replica) stop() error {
	r.past = r.complaints()
	if err := r.daemon.Stop(); err != nil && !r.hasLostLease() {
		return err
	}
	return nil
}

// hasLostLease reports whether the daemon has ended because it had lost its Lease.
func (r *replica) hasLostLease() bool {
	return r.daemon.HasEnded() && strings.HasSuffix(r.daemon.Log(), e2e.LostLease)
}

// revive starts the daemon again if it has lost its Lease.
func (r *replica) revive() error {
	if !r.hasLostLease() {
		return nil
	}
	r.lost++
	return r.restart()
}

// complaints are problems of the daemons themselves.
func (r *replica) complaints() []string {
	wrong := slices.Clone(r.past)
	if r.daemon.HasEnded() && !r.hasLostLease() {
		wrong = append(wrong, fmt.Sprintf("replica %s has ended by itself: %v", r.name, r.daemon.Err()))
	}
	if n := r.daemon.Logged(e2e.SweepRepair); n > 0 {
		wrong = append(wrong, fmt.Sprintf("sweeps of replica %s found %d changes that no event reported", r.name, n))
	}
	return wrong
}
