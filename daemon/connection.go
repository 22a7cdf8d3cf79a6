package daemon

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/karmada-target/karmada-mirror/metrics"
)

// ErrNoServer says that there is no kubeconfig, or none that can be used.
var ErrNoServer = errors.New("cannot find the Karmada API server (give --kubeconfig or $KUBECONFIG)")

// UserAgent is how the API server's logs know us.
func UserAgent(b metrics.Build) string { return "karmada-mirror/" + b.Version }

// connection finds the Karmada API server.
func (o *Options) connection(agent string) (*rest.Config, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	config.UserAgent = agent
	// An admission webhook words the warnings, and client-go logs them: they may
	// repeat a Secret.
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = o.qps, o.burst
	rereadToken(config)
	return config, nil
}

// rereadToken has the file of the token read again as soon as the API server
// refuses it. client-go does so every minute only, which is more than a lease
// lasts.
func rereadToken(config *rest.Config) {
	if config.BearerTokenFile == "" {
		return
	}
	config.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(config.BearerTokenFile)))
	config.BearerToken, config.BearerTokenFile = "", ""
}

// withLimits copies a connection; clients with limits of their own do not share
// a bucket.
func withLimits(config *rest.Config, qps float32, burst int) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = qps, burst
	return config
}
