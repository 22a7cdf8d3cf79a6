package daemon

import (
	"fmt"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/lru"

	"github.com/karmada-target/karmada-mirror/mirror"
)

// protection is what --metrics-secure puts in front of the metrics.
type protection struct {
	certificate *certificate
	reviewer    *reviewer
}

// newProtection finds mistakes in the flags before anything is served. It returns nil
// if the metrics are open.
func newProtection(o secureOptions, agent string, logger *zap.Logger) (*protection, error) {
	if !o.enabled {
		return nil, nil
	}
	logger = logger.WithOptions(mirror.Sparing()) // anyone can make it log
	certificate, err := newCertificate(o.certFile, o.keyFile, logger)
	if err != nil {
		return nil, err
	}
	authentication, err := reviewConnection(o.authenticationKubeconfig, "--authentication-kubeconfig", agent)
	if err != nil {
		return nil, err
	}
	tokens, err := authenticationclient.NewForConfig(authentication)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for TokenReviews: %w", err)
	}
	authorization, err := reviewConnection(o.authorizationKubeconfig, "--authorization-kubeconfig", agent)
	if err != nil {
		return nil, err
	}
	access, err := authorizationclient.NewForConfig(authorization)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for SubjectAccessReviews: %w", err)
	}
	return &protection{certificate, &reviewer{
		tokens: tokens.TokenReviews(), access: access.SubjectAccessReviews(),
		verdicts: cache.NewLRUExpireCache(reviewedTokens), budgets: lru.New(peers), logger: logger,
	}}, nil
}

// reviewConnection returns the client configuration for the cluster that reviews. It is
// not the cluster of --kubeconfig: Prometheus runs beside the Pod, with a token from the
// cluster there.
func reviewConnection(kubeconfig, flag, agent string) (config *rest.Config, err error) {
	config, err = reviewConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot find the cluster that protects /metrics (outside that cluster, give %s): %w", flag, err)
	}
	config.UserAgent = agent
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = reviewQPS, reviewBurst
	rereadToken(config)
	return config, nil
}

func reviewConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}
