package daemon

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/karmada-target/karmada-mirror/metrics"
)

// ErrNoServer is returned if there is no kubeconfig, or none that can be used.
var ErrNoServer = errors.New("cannot find the Karmada API server (give --kubeconfig or $KUBECONFIG)")

// UserAgent identifies this program in the API server's logs.
func UserAgent(b metrics.Build) string { return "karmada-mirror/" + b.Version }

// connection is the way to an API server.
type connection struct {
	*rest.Config
	// token reads the current token.
	token func() []byte
}

// connection returns the client configuration for the Karmada API server.
func (o *Options) connection(agent string) (*connection, error) {
	config, _, err := o.load()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	c := &connection{config, tokenReader(config)}
	config.UserAgent = agent
	config.Transport = o.Network.Transport
	// Admission webhooks write the warnings, and client-go logs them: they may
	// repeat a Secret.
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = o.qps, o.burst
	rereadToken(config)
	return c, nil
}

// load reads the kubeconfigs, and returns their paths, whether they exist or not.
func (o *Options) load() (config *rest.Config, kubeconfigs []string, err error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = o.kubeconfig
	config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	return config, loading.GetLoadingPrecedence(), err
}

// files are those that client-go reads once: the kubeconfigs, and the CA that they name now.
func (o *Options) files() []string {
	config, files, err := o.load()
	if err == nil {
		files = append(files, config.CAFile)
	}
	return append(files, o.secure.files()...)
}

// tokenReader returns what reads the token of a configuration.
func tokenReader(config *rest.Config) func() []byte {
	file, token := config.BearerTokenFile, []byte(config.BearerToken)
	return func() []byte {
		if file == "" {
			return token
		}
		token, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		return token
	}
}

// rereadToken makes the client read the token file again as soon as the API server
// rejects the token. client-go does so only every minute, which is longer than a
// lease lasts.
func rereadToken(config *rest.Config) {
	if config.BearerTokenFile == "" {
		return
	}
	config.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(config.BearerTokenFile)))
	config.BearerToken, config.BearerTokenFile = "", ""
}

// withLimits copies a client configuration and gives it rate limits of its own:
// clients made from it do not share a token bucket.
func withLimits(config *rest.Config, qps float32, burst int) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = qps, burst
	return config
}
