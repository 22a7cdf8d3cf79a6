package karmada

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// startTimeout is generous: a busy machine with two cores takes a minute.
const startTimeout = 5 * time.Minute

// Options configure a sandbox.
type Options struct {
	// Dir holds all its files. It is created if needed, must not contain another
	// sandbox, and is kept when the sandbox stops.
	Dir string
	// Programs are what package build compiles.
	Programs Programs
	// Members join in parallel before Start returns.
	Members []Member
	// Scheduler also starts karmada-scheduler. Only Karmada's own policies need
	// it.
	Scheduler bool
	// Bare starts only what answers requests: etcd, the API server with Karmada's
	// definitions, and karmada-webhook.
	Bare bool
	// Flags are added to those of a component, by its name, and replace flags of
	// the same name.
	Flags map[string][]string
	// Environment is added to that of all components, such as GOGC=400. They do
	// not inherit the caller's own.
	Environment []string
	// Detach lets the components outlive this process; Down stops them. Without
	// it, Linux ends them with this process, however it ends.
	Detach bool
	// Progress gets lines that say what is happening. If nil, nothing is
	// reported.
	Progress io.Writer
}

// Programs are the files that components are started from.
type Programs struct {
	// Hyperkarmada is the path of the binary with all components in it.
	Hyperkarmada string
	// APIServer is the path of another kube-apiserver for Karmada; empty for that of Hyperkarmada.
	APIServer string
	// Karmada is the folder with the sources of the module
	// github.com/karmada-io/karmada, which contain the CRDs and webhook
	// configurations.
	Karmada string
	// Kwok is the path of kwok, and Stages are the files with what it does to nodes and
	// Pods. Only members with nodes need them.
	Kwok   string
	Stages []string
}

// Member is a member cluster.
type Member struct {
	// Name is the name of the Cluster object.
	Name string
	// Mode is how Karmada reaches it: clusterv1alpha1.Push or Pull. In pull
	// mode a karmada-agent runs for it.
	Mode clusterv1alpha1.ClusterSyncMode
	// Nodes is how many nodes it has. On a node, Pods become ready within a second,
	// except those with an image that contains "never-ready", which run but do not
	// become ready, or "broken", which crash again and again. Without nodes, Pods stay
	// pending.
	Nodes int
}

// Karmada is a running sandbox.
type Karmada struct {
	options Options
	server  *server
	etcd    string
	ports   ports

	progress sync.Mutex

	mu         sync.Mutex
	components []*Component
	members    map[string]*member
	records    map[string]record
	deaths     map[string]error
	// joins counts all members that ever joined.
	joins int
}

// Start starts a Karmada and returns when all its members are ready. On an error,
// it stops everything that was started, and keeps the logs.
func Start(ctx context.Context, options Options) (*Karmada, error) {
	k, err := prepare(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("the sandbox did not start within %s", startTimeout))
	defer cancel()
	if err := k.start(ctx); err != nil {
		if stopErr := k.Stop(); stopErr != nil {
			return nil, fmt.Errorf("%w; %w", err, stopErr)
		}
		return nil, err
	}
	return k, nil
}

func prepare(options Options) (*Karmada, error) {
	var err error
	if options.Dir, err = filepath.Abs(options.Dir); err != nil {
		return nil, fmt.Errorf("cannot resolve folder %q: %w", options.Dir, err)
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	for _, leftover := range []string{"etcd", "state.json"} {
		if _, err := os.Stat(filepath.Join(options.Dir, leftover)); !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("cannot start in %q: it contains %q of another sandbox", options.Dir, leftover)
		}
	}
	for _, dir := range []string{"log", "etc"} {
		if err := os.MkdirAll(filepath.Join(options.Dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("cannot create folder %q: %w", dir, err)
		}
	}
	k := &Karmada{
		options: options,
		ports:   ports{first: firstPort, last: lastPort},
		members: map[string]*member{},
		records: map[string]record{},
		deaths:  map[string]error{},
	}
	k.server, err = k.newServer("karmada")
	return k, err
}

func (k *Karmada) start(ctx context.Context) error {
	if err := k.run(ctx, k.etcdSpec); err != nil {
		return err
	}
	// A member's own components need nothing of Karmada's, so they start in
	// parallel and join when both are up.
	starting, startCtx := errgroup.WithContext(ctx)
	starting.Go(func() error { return k.startControlPlane(startCtx) })
	members := make([]*member, len(k.options.Members))
	for i, m := range k.options.Members {
		starting.Go(func() (err error) {
			members[i], err = k.startMember(startCtx, m)
			return err
		})
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	joining, joinCtx := errgroup.WithContext(ctx)
	for _, m := range members {
		joining.Go(func() error { return k.join(joinCtx, m) })
	}
	return joining.Wait()
}

func (k *Karmada) startControlPlane(ctx context.Context) error {
	if err := k.run(ctx, k.karmadaAPIServerSpec); err != nil {
		return err
	}
	if err := k.installDefinitions(ctx); err != nil {
		return err
	}
	if k.options.Bare {
		return k.startWebhook(ctx)
	}
	serving, servingCtx := errgroup.WithContext(ctx)
	serving.Go(func() error {
		return k.run(servingCtx, func() (spec, error) {
			return k.kubeControllerManagerSpec(k.server, KubeControllerManager, karmadaControllers)
		})
	})
	serving.Go(func() error { return k.startAggregatedAPIServer(servingCtx) })
	serving.Go(func() error { return k.startWebhook(servingCtx) })
	if err := serving.Wait(); err != nil {
		return err
	}
	calling, callingCtx := errgroup.WithContext(ctx)
	calling.Go(func() error { return k.run(callingCtx, k.controllerManagerSpec) })
	if k.options.Scheduler {
		calling.Go(func() error { return k.run(callingCtx, k.schedulerSpec) })
	}
	return calling.Wait()
}

func (k *Karmada) startAggregatedAPIServer(ctx context.Context) error {
	s, port, err := k.aggregatedAPIServerSpec()
	if err != nil {
		return err
	}
	if err := k.runSpec(ctx, s); err != nil {
		return err
	}
	return k.installClusterAPI(ctx, port)
}

func (k *Karmada) startWebhook(ctx context.Context) error {
	s, port, err := k.webhookSpec()
	if err != nil {
		return err
	}
	if err := k.runSpec(ctx, s); err != nil {
		return err
	}
	return k.installWebhooks(ctx, port)
}

// run adds a component and waits until it is ready.
func (k *Karmada) run(ctx context.Context, describe func() (spec, error)) error {
	s, err := describe()
	if err != nil {
		return err
	}
	return k.runSpec(ctx, s)
}

func (k *Karmada) runSpec(ctx context.Context, s spec) error {
	s.flags = override(s.flags, k.options.Flags[s.name])
	c := &Component{spec: s, k: k}
	k.mu.Lock()
	k.components = append(k.components, c)
	k.mu.Unlock()
	return c.start(ctx)
}

// Stop stops all components, those that others depend on last, and returns when
// their processes are gone. The files in Options.Dir stay. You may call it twice,
// but not concurrently with another method.
func (k *Karmada) Stop() error {
	k.mu.Lock()
	components := k.components
	k.mu.Unlock()
	for t := callers; t >= storage; t-- {
		var group errgroup.Group
		for _, c := range components {
			if c.tier == t {
				group.Go(c.Stop)
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	if err := os.Remove(statePath(k.options.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove the state: %w", err)
	}
	return k.ports.release()
}

// Component returns the component of that name, such as [Webhook] or
// [Agent]("member3"), or nil if there is none.
func (k *Karmada) Component(name string) *Component {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.components {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Config is an administrator's client configuration for the Karmada API server,
// without a rate limit. The caller owns it.
func (k *Karmada) Config() *rest.Config { return rest.CopyConfig(k.server.config) }

// EtcdURL is where the one etcd of all API servers answers, without encryption.
// The keys of the Karmada API server begin with /karmada.
func (k *Karmada) EtcdURL() string { return k.etcd }

// Kubeconfig is the path of a kubeconfig with the rights of Config.
func (k *Karmada) Kubeconfig() string { return k.server.kubeconfig }

// AuditLog is the path of the Karmada API server's audit log: one JSON object of
// kind audit.k8s.io/v1 Event per line, for every request, at level Metadata,
// written before the request is answered. Each component and each ServiceAccount
// appears as its own user.
func (k *Karmada) AuditLog() string { return filepath.Join(k.options.Dir, "audit.log") }

func (k *Karmada) say(format string, arguments ...any) {
	k.progress.Lock()
	defer k.progress.Unlock()
	// Ignore the error: there is nowhere else to report it.
	_, _ = fmt.Fprintf(k.options.Progress, format+"\n", arguments...)
}
