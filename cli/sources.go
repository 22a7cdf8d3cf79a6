package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/watch"
)

// sources is what the commands that look at sources share: they decide as the daemon does,
// from their own reads.
type sources struct {
	flags         *genericclioptions.ConfigFlags
	configMap     string
	client        dynamic.Interface
	served        meta.RESTMapper // see mapper
	configuration *config.Configuration
	// cmd is the command that reads, and told about what of the daemon that has warned. status is what the daemon says; nil if it is not known.
	cmd    *cobra.Command
	told   sets.Set[string]
	status *daemon.Status
	// isUnknown: the configuration in force is not known. readable is then what can be read of the one in the ConfigMap, which has a
	// mistake: what the daemon watches, for certain, and not all that it says.
	isUnknown bool
	readable  *config.Configuration
	// configFiles are parts of a configuration to use instead of the daemon's.
	configFiles []string
}

func newSources(cmd *cobra.Command, transport http.RoundTripper) *sources {
	s := &sources{flags: connectionFlags(transport), cmd: cmd, told: sets.New[string]()}
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
	if s.client, err = watch.NewClient(connection); err != nil {
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
	if len(s.configFiles) > 0 {
		parts, err := readParts(s.configFiles, os.Stdin)
		if err != nil {
			return nil, err
		}
		return parts.Parse()
	}
	v, err := readView(ctx, client, s.configMap)
	if err != nil {
		return nil, err
	}
	s.status = v.status
	if v.absence != "" {
		s.warn(aboutLeader, v.withoutLeader())
	}
	if v.status != nil && v.status.Denied {
		s.warn(aboutRights, "the daemon's rights do not let it write some Works. See karmada-mirror check.")
	}
	configuration, told, isKnown := v.inForce()
	if told != "" {
		s.warn("configuration", told)
	}
	if !isKnown {
		s.isUnknown, s.readable = true, configuration
		return s.configuration, nil // as it was before, like the daemon
	}
	return configuration, nil
}

// The topics of warnings that end some commands: that no replica leads, and that it may not write.
const (
	aboutLeader = "leader"
	aboutRights = "rights"
)

// warn says something about the daemon, once of each topic.
func (s *sources) warn(topic, text string) {
	if s.told.Has(topic) {
		return
	}
	s.told.Insert(topic)
	first, rest, isLong := strings.Cut(text, "\n  ")
	if isLong {
		rest = "\n  " + oneLine(rest)
	}
	fmt.Fprintln(plain{s.cmd.ErrOrStderr()}, "warning: "+oneLine(first)+rest)
}

// warnOfWatches says what the daemon cannot watch of what decides about these objects, or about all of some kinds; nil for all kinds.
func (s *sources) warnOfWatches(refs []gather.SourceRef, kinds []*meta.RESTMapping) {
	if s.status == nil {
		return
	}
	concerned := sets.New[string]()
	for _, ref := range refs {
		concerned.Insert(ref.Mapping.Resource.GroupResource().String())
	}
	for _, kind := range kinds {
		concerned.Insert(kind.Resource.GroupResource().String())
	}
	for _, r := range s.status.Resources {
		isOfAll := s.configuration != nil && !s.configuration.Includes(schema.ParseGroupResource(r.Resource), "")
		if r.Reason == "" || r.State == watch.Pending || len(concerned) > 0 && !isOfAll && !concerned.Has(r.Resource) {
			continue
		}
		s.warn(r.Resource, fmt.Sprintf("the daemon cannot watch %s, and acts on changes late or not at all: %s. See karmada-mirror check.", r.Resource, r.Reason))
	}
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
