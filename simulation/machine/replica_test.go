package machine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// watched are the resources whose watches are held back and cut.
var watched = []string{"configmaps", "deployments", "horizontalpodautoscalers", "namespaces", "clusters", "works", "overridepolicies", "clusteroverridepolicies"}

// theConfiguration stands for the ConfigMap with the configuration, among the resources whose
// watches are held back.
const theConfiguration = "configuration"

// These are lines of the daemon's log.
const (
	lostLease   = "lost the lease"
	sweepRepair = "a sweep has found a change that no event reported"
)

// replica is one of the daemons, connected to an API server of its own. When its process has
// ended, it is started again, as a Deployment would.
type replica struct {
	name       string
	kubeconfig string
	// server is where its requests go, and api its own API server.
	server  http.RoundTripper
	api     *apiserver.Server
	latency time.Duration
	gates   map[string]*fault.Gate
	layer   *fault.Layer // of the current process
	rules   map[string]*fault.Rule
	// passing are faults that end at the next quiet moment.
	passing []*passing
	current *process
	// processes are all that have been started.
	processes []*process
	// isMisled: it cannot know what it has missed.
	isMisled bool
	// flags are added to the usual ones.
	flags []string
}

// passing is a fault that stays when the process ends.
type passing struct {
	match fault.Match
	fault fault.Fault
	rule  *fault.Rule
}

func newReplica(name string, server http.RoundTripper, kubeconfig string) *replica {
	r := &replica{name: name, kubeconfig: kubeconfig, server: server, gates: map[string]*fault.Gate{}}
	for _, resource := range append(slices.Clone(watched), theConfiguration) {
		r.gates[resource] = fault.NewGate()
	}
	return r
}

// watchOf matches the requests that watch a resource in all namespaces, or the configuration.
func watchOf(resource string) fault.Match {
	if resource == theConfiguration {
		return fault.Match{Verb: "watch", Resource: "configmaps", Namespace: daemon.Namespace}
	}
	return fault.Match{Verb: "watch", Resource: resource, AllNamespaces: true}
}

// hang puts a gate into the watch of its resource.
func (r *replica) hang(resource string) {
	r.rules[resource] = r.layer.Inject(watchOf(resource), r.gates[resource].Events())
}

// expire ends a watch, and answers the next ones that they are too old.
func (r *replica) expire(resource string) {
	r.pass(watchOf(resource), fault.Expire())
	r.layer.End(watchOf(resource))
}

// mislead makes a resource be listed again, with a fault in the lists and in the watches after them.
func (r *replica) mislead(resource string, f fault.Fault) {
	r.pass(fault.Match{Verb: "list", Resource: resource, AllNamespaces: true}, f)
	r.pass(watchOf(resource), fault.Chain(fault.Expire(), f))
	r.layer.End(watchOf(resource))
}

// pass injects a fault that ends at the next quiet moment.
func (r *replica) pass(m fault.Match, f fault.Fault) {
	p := &passing{match: m, fault: f}
	if r.layer != nil {
		p.rule = r.layer.Inject(m, f)
	}
	r.passing = append(r.passing, p)
}

// settle ends all faults.
func (r *replica) settle() {
	for _, p := range r.passing {
		p.rule.Remove()
	}
	r.passing = nil
	r.layer.Connect(r.server)
	if r.isMisled { // so is each process that has begun meanwhile
		r.restart()
		r.isMisled = false
	}
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
			n += r.layer.InFlight(fault.Match{Verb: verb, Resource: resource})
		}
	}
	return n
}

// usualFlags are the daemon's own defaults, except that it resyncs more often: what only a sweep finds is a defect.
var usualFlags = []string{"--resync-period=15s"}

// stamped says on each request when it was sent.
type stamped struct{ http.RoundTripper }

func (s stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(apiserver.SentHeader, time.Now().Format(time.RFC3339Nano))
	return s.RoundTripper.RoundTrip(r)
}

func (r *replica) start() {
	r.layer = fault.New(r.server, uint64(len(r.processes)))
	r.layer.SetLatency(r.latency)
	r.rules = map[string]*fault.Rule{}
	for resource := range r.gates {
		r.hang(resource)
	}
	for _, p := range r.passing {
		if p.rule != nil {
			p.rule.Remove()
		}
		p.rule = r.layer.Inject(p.match, p.fault)
	}
	r.current = startProcess(stamped{r.layer}, append(append(slices.Clone(usualFlags), "--kubeconfig="+r.kubeconfig, "--holder-identity="+r.name), r.flags...)...)
	r.processes = append(r.processes, r.current)
}

// die ends the daemon as a power cut would: nothing that it still does reaches the API server.
func (r *replica) die() {
	r.layer.Cut()
	r.current.expectEnd()
	r.current.cancel()
}

// kill starts it again after that, and restart after asking it to end.
func (r *replica) kill() {
	r.die()
	r.start()
}

func (r *replica) restart() {
	r.stop()
	r.start()
}

func (r *replica) stop() {
	r.current.expectEnd()
	r.current.cancel()
	<-r.current.done
}

// isOver reports whether it has ended, or must.
func (p *process) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return true
	default:
		return p.isExpected
	}
}

// revive starts the daemon again if it has ended by itself for a good reason.
func (r *replica) revive() {
	if r.hasEnded() && r.current.mustRestart() {
		r.start()
	}
}

// hasEnded reports whether the current process has.
func (r *replica) hasEnded() bool {
	select {
	case <-r.current.done:
		return true
	default:
		return false
	}
}

// end waits until all processes have ended.
func (r *replica) end() {
	r.settle()
	r.stop()
	for _, p := range r.processes {
		<-p.done
	}
}

// complaints are problems of the daemons themselves since the last call.
func (r *replica) complaints() (wrong []string) {
	for _, p := range r.processes {
		wrong = append(wrong, p.complaints(r.name)...)
	}
	return wrong
}

// process is one run of the daemon.
type process struct {
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done is closed
	log    journal
	// listeners are those of its servers, by address.
	listeners map[string]*listener

	mu         sync.Mutex
	isExpected bool // that it ends
	reported   bool
}

func startProcess(layer http.RoundTripper, flags ...string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{began: time.Now(), cancel: cancel, done: make(chan struct{})}
	o, set := &daemon.Options{}, pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.AddFlags(set)
	p.listeners = map[string]*listener{":8080": newListener(), ":8081": newListener()}
	o.Network = daemon.Network{Transport: layer, Listen: func(_ context.Context, _, address string) (net.Listener, error) { return p.listeners[address], nil }}
	p.err = set.Parse(flags)
	encoder := zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", TimeKey: "at", EncodeTime: zapcore.RFC3339NanoTimeEncoder, EncodeLevel: zapcore.LowercaseLevelEncoder}
	logger := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoder), &p.log, zap.InfoLevel))
	go func() {
		defer close(p.done)
		if p.err == nil {
			p.err = daemon.Serve(ctx, o, metrics.Build{Version: "simulated"}, logger)
		}
	}()
	return p
}

func (p *process) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isExpected = true
}

// mustRestart reports whether a process that has ended had lost its Lease, could not read it, or found etcd restored.
func (p *process) mustRestart() bool {
	says := func(why string) bool { return p.err != nil && strings.Contains(p.err.Error(), why) }
	return says(lostLease) || says("cannot read the Lease after it was won") || says("restart to read everything again")
}

func (p *process) complaints(name string) (wrong []string) {
	if n := p.log.takeRepairs(); n > 0 {
		wrong = append(wrong, fmt.Sprintf("sweeps of replica %s found %d changes that no event reported", name, n))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		if !p.reported && !p.isExpected && !p.mustRestart() {
			p.reported = true
			wrong = append(wrong, fmt.Sprintf("replica %s has ended by itself: %v", name, p.err))
		}
	default:
	}
	return wrong
}

// journalLength is how many lines are kept of each replica's log, and printed how many a failure prints.
const journalLength, printed = 20_000, 60

// journal is the end of a log, and what was counted in the whole.
type journal struct {
	mu      sync.Mutex
	last    [][]byte
	repairs int
}

// Write implements io.Writer; a write is a line.
func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if bytes.Contains(line, []byte(sweepRepair)) {
		j.repairs++
	}
	j.last = append(j.last, bytes.Clone(line))
	if len(j.last) > journalLength {
		j.last = j.last[1:]
	}
	return len(line), nil
}

// Sync implements zapcore.WriteSyncer.
func (*journal) Sync() error { return nil }

func (j *journal) takeRepairs() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.repairs
	j.repairs = 0
	return n
}

// print writes the end of the log.
func (j *journal) print(w io.Writer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.last[max(0, len(j.last)-printed):] {
		_, _ = w.Write(line)
	}
}

// forget drops all lines.
func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = nil
}

// said are the lines with a text.
func (j *journal) said(text string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.last {
		if bytes.Contains(line, []byte(text)) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

// newKubeconfig writes a kubeconfig of an API server that only a transport knows.
func newKubeconfig(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: k, cluster: {server: 'http://karmada'}}]\ncontexts: [{name: k, context: {cluster: k}}]\ncurrent-context: k\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
