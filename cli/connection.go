package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karmada-target/karmada-mirror/daemon"
)

// connectionFlags returns kubectl's connection flags, without a client-side rate limit: the
// requests of a command follow one another. transport carries them; nil makes one from the kubeconfig.
func connectionFlags(transport http.RoundTripper) *genericclioptions.ConfigFlags {
	return genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = daemon.UserAgent(build())
		config.QPS = -1
		config.Transport = transport
		return config
	})
}

// connect returns the connection to the Karmada API server that a command's flags give.
func connect(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	config, err := flags.ToRESTConfig()
	named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	switch {
	case *flags.KubeConfig == "" && *flags.APIServer == "" && named != "" && !slices.ContainsFunc(filepath.SplitList(named), exists): // kubectl would try localhost
		return nil, fmt.Errorf("%w: no file of $%s exists: %s", daemon.ErrNoServer, clientcmd.RecommendedConfigPathEnvVar, named)
	case err != nil && *flags.ClusterName != "":
		return nil, fmt.Errorf("%w: %w\n  --cluster is a cluster of the kubeconfig, as for kubectl; a member cluster is chosen by --member", daemon.ErrNoServer, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", daemon.ErrNoServer, err)
	}
	return config, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !os.IsNotExist(err)
}
