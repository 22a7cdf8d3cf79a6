package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror"
)

// The default names of the daemon's objects on the Karmada API server.
const (
	Namespace        = "karmada-system"
	DefaultConfigMap = config.DefaultConfigMap
	DefaultLease     = "karmada-mirror"
)

// Options are the flags of `karmada-mirror run`.
type Options struct {
	kubeconfig          string
	configMap           string
	configFile          string
	concurrentSyncs     int
	deletionSettle      time.Duration
	leastBake           time.Duration
	wavesWithoutEvents  bool
	listDeadline        time.Duration
	resyncPeriod        time.Duration
	qps                 float32
	burst               int
	leaderElect         bool
	lease               leaseOptions
	metricsAddress      string
	probeAddress        string
	secure              secureOptions
	profiling           profilingOptions
	logLevel, logFormat string
	configMapName       types.NamespacedName // parsed from configMap
	output              *Output              // of the log; nil if the caller has made the logger
	// Network is not a flag; the zero value is the machine's network.
	Network Network
}

// Network is how a daemon reaches the Karmada API server, and is reached.
type Network struct {
	// Transport carries the requests to the Karmada API server; nil makes one from the kubeconfig.
	Transport http.RoundTripper
	// Listen opens an address for metrics, probes or profiles; nil is that of net.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
}

type leaseOptions struct {
	duration, renewDeadline, retryPeriod time.Duration
	namespace, name, identity            string
}

// secureOptions are the flags of --metrics-secure, named as in Kubernetes' own
// components.
type secureOptions struct {
	enabled                                           bool
	certFile, keyFile                                 string
	authenticationKubeconfig, authorizationKubeconfig string
}

// profilingOptions are named as in Karmada's components
// (pkg/sharedcli/profileflag, v1.18.2).
type profilingOptions struct {
	enabled bool
	address string
}

// AddFlags defines the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the Karmada API server; default: $KUBECONFIG, else the in-cluster configuration")
	fs.StringVar(&o.configMap, "config-map", DefaultConfigMap, "namespace/name of the ConfigMap with the configuration, on the Karmada API server")
	fs.StringVar(&o.configFile, "config", "", "a file with the configuration, instead of the ConfigMap; for development")
	fs.IntVar(&o.concurrentSyncs, "concurrent-syncs", 16, "how many sources are synced at once, and how many writes are in flight; sources that have just changed have as many writes of their own, and so have those whose writes hang")
	fs.DurationVar(&o.leastBake, "least-wave-bake", mirror.DefaultLeastBake, "how long a wave must have been applied where Karmada's reports do not say which content they are about")
	fs.BoolVar(&o.wavesWithoutEvents, "waves-without-events", false, "in waves, do not wait for Karmada's Events, which show that it has applied the content, but only for --least-wave-bake")
	fs.DurationVar(&o.deletionSettle, "deletion-settle-period", time.Second, "how long a deletion waits for others, so that the deletion breaker counts them together")
	fs.DurationVar(&o.resyncPeriod, "resync-period", 10*time.Minute, "how often all sources are checked in memory without an event, to find missed changes; 0 turns it off")
	fs.DurationVar(&o.listDeadline, "list-deadline", 30*time.Second, "how long a list may make no progress before it is restarted with twice the time, and a streaming list as a plain one")
	fs.Float32Var(&o.qps, "kube-api-qps", -1, "queries per second to the Karmada API server; negative: limited only by the requests in flight")
	fs.IntVar(&o.burst, "kube-api-burst", 0, "burst of queries to the Karmada API server, with --kube-api-qps")
	fs.BoolVar(&o.leaderElect, "leader-elect", true, "use a Lease to let only one of several replicas write")
	fs.DurationVar(&o.lease.duration, "leader-elect-lease-duration", 15*time.Second, "how long standbys wait before replacing a leader that stopped renewing")
	fs.DurationVar(&o.lease.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew before it stops leading")
	fs.DurationVar(&o.lease.retryPeriod, "leader-elect-retry-period", 2*time.Second, "time between attempts to acquire or renew the Lease")
	fs.StringVar(&o.lease.namespace, "leader-elect-resource-namespace", Namespace, "namespace of the Lease")
	fs.StringVar(&o.lease.name, "leader-elect-resource-name", DefaultLease, "name of the Lease")
	fs.StringVar(&o.lease.identity, "holder-identity", "", "this replica's name in the Lease, to which a random part is added; default: $POD_NAME, else the host name")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 turns it off")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of /livez and /readyz; 0 turns it off")
	o.secure.register(fs)
	o.profiling.register(fs)
	fs.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&o.logFormat, "log-format", "json", "json or console")
}

// complete checks the flags and sets defaults.
func (o *Options) complete() error {
	var errs []error
	var err error
	if o.Network.Listen == nil {
		o.Network.Listen = (&net.ListenConfig{}).Listen
	}
	if o.configMapName, err = ParseConfigMap(o.configMap); err != nil {
		errs = append(errs, err)
	}
	if o.deletionSettle < 0 || o.listDeadline <= 0 {
		errs = append(errs, fmt.Errorf("cannot use --deletion-settle-period %s and --list-deadline %s: the first must be at least 0, the second more than 0", o.deletionSettle, o.listDeadline))
	}
	if o.leastBake < 0 {
		errs = append(errs, fmt.Errorf("cannot use --least-wave-bake %s: want at least 0", o.leastBake))
	}
	if o.resyncPeriod < 0 {
		errs = append(errs, fmt.Errorf("cannot use --resync-period %s: want at least 0", o.resyncPeriod))
	}
	if o.concurrentSyncs < 1 {
		errs = append(errs, fmt.Errorf("cannot use --concurrent-syncs %d: want at least 1", o.concurrentSyncs))
	}
	if o.qps == 0 {
		errs = append(errs, errors.New("cannot use --kube-api-qps 0: want a negative number for no limit, or queries per second"))
	}
	if o.qps > 0 && o.burst < 1 {
		errs = append(errs, fmt.Errorf("cannot use --kube-api-qps %g without --kube-api-burst", o.qps))
	}
	errs = append(errs, validateAddress("--metrics-bind-address", o.metricsAddress), validateAddress("--health-probe-bind-address", o.probeAddress))
	if o.metricsAddress == o.probeAddress && o.metricsAddress != disabled && !strings.HasSuffix(o.metricsAddress, ":0") {
		errs = append(errs, fmt.Errorf("cannot use %q for both --metrics-bind-address and --health-probe-bind-address", o.metricsAddress))
	}
	errs = append(errs, o.validateConfiguration(), o.lease.validate(), o.secure.validate(), o.profiling.validate())
	return errors.Join(errs...)
}

// validateAddress checks an address to listen on.
func validateAddress(flag, address string) error {
	if address == disabled {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("cannot use %s %q: want host:port or :port, or 0 to turn it off: %w", flag, address, err)
	}
	return nil
}

// validateConfiguration reads the file of --config, if the flag is given: it must be valid at
// the start.
func (o *Options) validateConfiguration() error {
	if o.configFile == "" {
		return nil
	}
	data, err := os.ReadFile(o.configFile)
	if err != nil {
		return fmt.Errorf("cannot read --config: %w", err)
	}
	if _, err := config.Parse(data); err != nil {
		return fmt.Errorf("cannot use --config %s: %w", o.configFile, err)
	}
	return nil
}

// ParseConfigMap parses namespace/name, the value of --config-map.
func ParseConfigMap(value string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("cannot use --config-map %q: want namespace/name", value)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func (l *leaseOptions) validate() error {
	if l.duration <= l.renewDeadline || l.renewDeadline <= l.retryPeriod || l.retryPeriod <= 0 {
		return fmt.Errorf("cannot use these leader election times: want lease duration %s > renew deadline %s > retry period %s > 0",
			l.duration, l.renewDeadline, l.retryPeriod)
	}
	if l.namespace == "" || l.name == "" {
		return errors.New("cannot elect a leader without --leader-elect-resource-namespace and --leader-elect-resource-name")
	}
	if l.identity == "" {
		l.identity = os.Getenv("POD_NAME")
	}
	if l.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("cannot get the host name; give --holder-identity: %w", err)
		}
		l.identity = host
	}
	// Two processes with one identity would both take the Lease for theirs.
	l.identity += "_" + string(uuid.NewUUID())
	return nil
}

func (s *secureOptions) register(fs *pflag.FlagSet) {
	fs.BoolVar(&s.enabled, "metrics-secure", false, "serve /metrics over TLS only, and only to users with the verb get on the nonResourceURL /metrics; needs --tls-cert-file and --tls-private-key-file")
	fs.StringVar(&s.certFile, "tls-cert-file", "", "certificate of /metrics in PEM, with those of its authorities; reloaded when it changes")
	fs.StringVar(&s.keyFile, "tls-private-key-file", "", "private key of --tls-cert-file; reloaded when it changes")
	fs.StringVar(&s.authenticationKubeconfig, "authentication-kubeconfig", "", "kubeconfig of the cluster that authenticates readers of /metrics (TokenReview); default: the cluster where the Pod runs")
	fs.StringVar(&s.authorizationKubeconfig, "authorization-kubeconfig", "", "kubeconfig of the cluster that authorizes readers of /metrics (SubjectAccessReview); default: the cluster where the Pod runs")
}

// files are those of the reviewing clusters that client-go reads once.
func (s *secureOptions) files() []string {
	if !s.enabled {
		return nil
	}
	files := []string{s.authenticationKubeconfig, s.authorizationKubeconfig}
	for _, kubeconfig := range files {
		if config, err := reviewConfig(kubeconfig); err == nil {
			files = append(files, config.CAFile)
		}
	}
	return files
}

// validate rejects a flag that would have no effect: a user who sets it believes
// that the metrics are protected.
func (s *secureOptions) validate() error {
	given := s.certFile != "" || s.keyFile != "" || s.authenticationKubeconfig != "" || s.authorizationKubeconfig != ""
	switch {
	case s.enabled && (s.certFile == "" || s.keyFile == ""):
		return errors.New("cannot use --metrics-secure without --tls-cert-file and --tls-private-key-file: a token must not be sent in the clear")
	case !s.enabled && given:
		return errors.New("cannot use --tls-cert-file, --tls-private-key-file, --authentication-kubeconfig or --authorization-kubeconfig without --metrics-secure")
	}
	return nil
}

func (p *profilingOptions) register(fs *pflag.FlagSet) {
	fs.BoolVar(&p.enabled, "enable-pprof", false, "serve profiles at /debug/pprof/, on loopback only")
	fs.StringVar(&p.address, "profiling-bind-address", "127.0.0.1:6060", "loopback address of the profiles, with --enable-pprof")
}

// validate wants a literal address: a name might resolve to something else.
func (p *profilingOptions) validate() error {
	address, err := netip.ParseAddrPort(p.address)
	if p.enabled && (err != nil || !address.Addr().IsLoopback()) {
		return fmt.Errorf("cannot use --profiling-bind-address %q: want a loopback address and a port, such as 127.0.0.1:6060; profiles show what is in memory", p.address)
	}
	return nil
}
