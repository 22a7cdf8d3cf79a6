package cli

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// connection finds the Karmada API server.
func (o *options) connection() (*rest.Config, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find the Karmada API server (give --kubeconfig or $KUBECONFIG): %w", err)
	}
	config.UserAgent = "karmada-mirror/" + build().Version
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
