package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

// sources is what the commands have in common that look at sources: they decide as the
// daemon does, by reads of their own.
type sources struct {
	flags         *genericclioptions.ConfigFlags
	configMap     string
	client        dynamic.Interface
	configuration *config.Configuration
}

func newSources(cmd *cobra.Command) *sources {
	s := &sources{flags: connectionFlags()}
	s.flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&s.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.ValidArgsFunction = s.complete
	return s
}

// reader reads the configuration, and the clusters.
func (s *sources) reader(ctx context.Context) (*gather.Reader, error) {
	connection, err := connect(s.flags)
	if err != nil {
		return nil, err
	}
	if s.client, err = dynamic.NewForConfig(connection); err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	if s.configuration, err = readConfiguration(ctx, client, s.configMap); err != nil {
		return nil, withRights(err)
	}
	reader, err := gather.NewReader(ctx, s.client, s.configuration)
	return reader, withRights(err)
}

// readConfiguration reads the ConfigMap of that namespace and name.
func readConfiguration(ctx context.Context, client kubernetes.Interface, configMap string) (*config.Configuration, error) {
	name, err := daemon.ParseConfigMap(configMap)
	if err != nil {
		return nil, err
	}
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read the daemon's configuration: %w", err)
	}
	configuration, err := config.Parse([]byte(read.Data[config.Key]))
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %q: %w", configMap, err)
	}
	return configuration, nil
}

// withRights says what to ask for where a right is missing.
func withRights(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: ask for the ClusterRole karmada-mirror-viewer", err)
	}
	return err
}

// find resolves RESOURCE NAME as kubectl does.
func (s *sources) find(resource, name string) (gather.SourceRef, error) {
	mapping, err := mappingOf(s.flags, resource)
	if err != nil {
		return gather.SourceRef{}, err
	}
	return s.refer(mapping, "", name)
}

// refer fills in the namespace: that of the flags or of the kubeconfig if there is none.
func (s *sources) refer(mapping *meta.RESTMapping, namespace, name string) (gather.SourceRef, error) {
	ref := gather.SourceRef{Mapping: mapping, Name: name}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return ref, nil
	}
	var err error
	if ref.Namespace = namespace; namespace == "" {
		ref.Namespace, _, err = s.flags.ToRawKubeConfigLoader().Namespace()
	}
	return ref, err
}
