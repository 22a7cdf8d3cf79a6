package cli

import (
	"fmt"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/daemon"
)

// connectionFlags are kubectl's. The requests of a command follow one another, so that
// they need no limit of their own.
func connectionFlags() *genericclioptions.ConfigFlags {
	return genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = daemon.UserAgent(build())
		config.QPS = -1
		return config
	})
}

// connect finds the Karmada API server by the flags of a command.
func connect(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", daemon.ErrNoServer, err)
	}
	return config, nil
}
