package cli

import (
	"fmt"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// userAgent is how the API server's logs know us.
func userAgent() string { return "karmada-mirror/" + build().Version }

// connection finds the Karmada API server.
func (o *options) connection() (*rest.Config, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return nil, noServer(err)
	}
	config.UserAgent = userAgent()
	// An admission webhook words the warnings, and client-go logs them: they may
	// repeat a Secret.
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = o.qps, o.burst
	rereadToken(config)
	return config, nil
}

// connectionFlags are kubectl's, for the commands that people type. Their requests
// follow one another, so that they need no limit of their own.
func connectionFlags() *genericclioptions.ConfigFlags {
	return genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = userAgent()
		config.QPS = -1
		return config
	})
}

// connect finds the Karmada API server by the flags of a command.
func connect(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, noServer(err)
	}
	return config, nil
}

func noServer(err error) error {
	return fmt.Errorf("cannot find the Karmada API server (give --kubeconfig or $KUBECONFIG): %w", err)
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
