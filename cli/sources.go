package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

// sources is what the commands that look at sources share: they decide as the daemon does,
// from their own reads.
type sources struct {
	flags         *genericclioptions.ConfigFlags
	configMap     string
	client        dynamic.Interface
	served        meta.RESTMapper // see mapper
	configuration *config.Configuration
	// cmd is the command that reads, and hasWarned whether that has said that the daemon's configuration has a mistake. readable is
	// then what can be read of it: what the daemon watches, for certain, and not all that it says.
	cmd       *cobra.Command
	hasWarned bool
	readable  *config.Configuration
	// configFiles are parts of a configuration to use instead of the daemon's.
	configFiles []string
}

func newSources(cmd *cobra.Command, transport http.RoundTripper) *sources {
	s := &sources{flags: connectionFlags(transport), cmd: cmd}
	s.flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&s.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.ValidArgsFunction = s.complete
	completeNamespace(cmd, s.flags)
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
	s.configuration, err = s.readConfiguration(ctx, client)
	if err != nil && (errors.Is(err, errNotKarmada) || !apierrors.IsForbidden(err)) { // tenants need not see it
		return nil, withHint(err)
	}
	mapper, err := s.mapper()
	if err != nil {
		return nil, err
	}
	reader, err := gather.NewReader(ctx, s.client, mapper, s.configuration)
	return reader, withHint(blameServer(ctx, client, err))
}

// mapper says what is served. It asks the API server once.
func (s *sources) mapper() (mapper meta.RESTMapper, err error) {
	if s.served == nil {
		s.served, err = servedNow(s.flags)
	}
	return s.served, err
}

// mappingOf is [mappingOf] by what is served now.
func (s *sources) mappingOf(resource string) (*meta.RESTMapping, error) {
	mapper, err := s.mapper()
	if err != nil {
		return nil, err
	}
	return mappingBy(mapper, resource)
}

// readConfiguration reads the configuration to use.
func (s *sources) readConfiguration(ctx context.Context, client kubernetes.Interface) (*config.Configuration, error) {
	if len(s.configFiles) == 0 {
		configuration, err := readUsable(ctx, client, s.configMap)
		if mistaken := new(mistakenConfiguration); errors.As(err, &mistaken) {
			s.tellMistaken(mistaken)
			s.readable = configuration
			return s.configuration, nil // as it was before, like the daemon
		}
		return configuration, err
	}
	parts, err := readParts(s.configFiles, os.Stdin)
	if err != nil {
		return nil, err
	}
	return parts.Parse()
}

// tellMistaken says, once, that the configuration has a mistake, what the daemon does then, and this command.
func (s *sources) tellMistaken(err error) {
	if s.hasWarned {
		return
	}
	s.hasWarned = true
	fmt.Fprintln(plain{s.cmd.ErrOrStderr()}, "warning: "+oneLine(err.Error())+"\n  The daemon keeps the configuration that it had before. This command does not know it. Correct it: karmada-mirror validate -f FILE.")
}

// parseConfigMap parses the value of --config-map.
func parseConfigMap(value string) (types.NamespacedName, error) {
	name, err := daemon.ParseConfigMap(value)
	if err != nil {
		return name, misuse("%w", err)
	}
	return name, nil
}

// approvalsOn returns the approvals on a ConfigMap that the daemon uses, and what is wrong with the others.
func approvalsOn(o metav1.Object) (config.Approvals, error) {
	return config.UsableApprovals(o.GetAnnotations()[config.ApprovalsAnnotation], config.WrittenAt(o, config.ApprovalsAnnotation), time.Now())
}

// readConfiguration reads the ConfigMap with that namespace/name. If that fails, the error says whether the API server is the wrong
// one.
func readConfiguration(ctx context.Context, client kubernetes.Interface, configMap string) (*config.Configuration, error) {
	configuration, err := readUsable(ctx, client, configMap)
	if err != nil {
		return nil, err
	}
	return configuration, nil
}

// readUsable does so as well. With a [mistakenConfiguration], it returns what can be used of it; nil for nothing.
func readUsable(ctx context.Context, client kubernetes.Interface, configMap string) (*config.Configuration, error) {
	name, err := parseConfigMap(configMap)
	if err != nil {
		return nil, err
	}
	read, err := client.CoreV1().ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		err = blameServer(ctx, client, fmt.Errorf("cannot read the daemon's configuration: %w", err))
		if apierrors.IsNotFound(err) && !errors.Is(err, errNotKarmada) {
			err = fmt.Errorf("%w\n  is karmada-mirror installed (karmada-mirror check)? If its ConfigMap has another name, give --config-map", err)
		}
		return nil, err
	}
	configuration, err := config.ParseConfigMap(read.Data)
	if configuration != nil {
		configuration.Approvals, _ = approvalsOn(read) // the daemon says what is wrong with the others
	}
	if err != nil {
		return configuration, &mistakenConfiguration{fmt.Errorf("ConfigMap %q: %w", configMap, err)}
	}
	return configuration, nil
}

// mistakenConfiguration is the error of a ConfigMap that the daemon rejects.
type mistakenConfiguration struct{ error }

// refer fills in the namespace, by default from the flags or the kubeconfig.
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
