package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// selection is the sources that the arguments of a command select.
type selection struct {
	*sources
	allNamespaces bool
	// labels is a label selector for objects; empty selects all, and also the leftover Works of
	// deleted objects.
	labels string

	// namespace is the one to look at; empty for all.
	namespace string
	// namespaced skips cluster-scoped resources.
	namespaced bool
	survey     *gather.Survey
	kinds      kindsMet
	// unread says of kinds why their objects cannot be read.
	unread map[schema.GroupKind]string
}

// kindsMet are the listed kinds.
type kindsMet map[schema.GroupKind]*kindMet

// kindMet is a listed kind.
type kindMet struct {
	mapping *meta.RESTMapping
	// version is the resource version of the list, from which a watch can start; empty if the user
	// may not list the kind.
	version string
	sources map[render.Identity]bool
}

func newSelection(cmd *cobra.Command, transport http.RoundTripper) *selection {
	s := &selection{sources: newSources(cmd, transport), kinds: kindsMet{}, unread: map[schema.GroupKind]string{}}
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "look at all namespaces")
	return s
}

// fewSources bounds the named sources that are each read by themselves: that takes some requests for each.
const fewSources = 5

// read reads what all sources share, and calls seen for each Work. If the arguments name a few sources, only their Works are read,
// later.
func (s *selection) read(ctx context.Context, errOut io.Writer, args []string, seen func(*unstructured.Unstructured)) error {
	reader, err := s.reader(ctx)
	if err != nil {
		return err
	}
	if !s.allNamespaces {
		if s.namespace, _, err = s.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	refs, kinds, err := s.named(args)
	if err != nil {
		return err
	}
	s.warnOfWatches(refs, kinds)
	if 0 < len(refs) && len(refs) <= fewSources {
		reader.Seen, s.survey = seen, reader.Alone()
		return nil
	}
	progress := newProgress(errOut, "reading Works")
	reader.Seen = func(obj *unstructured.Unstructured) {
		seen(obj)
		progress.step()
	}
	s.survey, err = reader.Survey(ctx, s.namespace)
	progress.done()
	return err
}

// each visits the sources that the arguments select: named ones, those of a resource, or
// those of all resources in the configuration. A named one that does not exist is an error.
func (s *selection) each(ctx context.Context, args []string, visit func(judge.Facts) error) error {
	refs, kinds, err := s.named(args)
	if err != nil {
		return err
	}
	var errs []error
	for _, ref := range refs {
		facts, err := s.survey.Facts(ctx, ref, nil)
		if err == nil {
			err = mustExist(ref, facts, s.survey.Reader)
		}
		if err == nil {
			err = visit(facts)
		}
		errs = append(errs, err)
	}
	if len(refs) > 0 {
		return errors.Join(errs...)
	}
	return s.list(ctx, kinds, visit)
}

// mustExist returns an error for a source that does not exist and has no leftover Works.
func mustExist(ref gather.SourceRef, f judge.Facts, reader *gather.Reader) error {
	if f.Source != nil || !f.Live || len(f.Works) > 0 {
		return nil
	}
	notFound := apierrors.NewNotFound(ref.Mapping.Resource.GroupResource(), ref.Name)
	if len(reader.Hidden()) > 0 {
		return notFound // its Works may be hidden
	}
	return fmt.Errorf("%w, and it has no leftover Works", notFound)
}

// list visits the sources of some kinds, or of all configured ones if there are none. If it cannot list
// some kinds, it still visits the others.
func (s *selection) list(ctx context.Context, kinds []*meta.RESTMapping, visit func(judge.Facts) error) error {
	mappings, isAll := kinds, len(kinds) == 0
	if isAll {
		var err error
		if mappings, err = s.configured(); err != nil {
			return err
		}
	}
	var errs []error
	for _, m := range mappings {
		if s.namespaced && m.Scope.Name() != meta.RESTScopeNameNamespace {
			continue
		}
		met := &kindMet{mapping: m, sources: map[render.Identity]bool{}}
		s.kinds[m.GroupVersionKind.GroupKind()] = met
		errs = append(errs, s.objects(ctx, met, isAll, visit))
	}
	if s.labels == "" {
		errs = append(errs, s.leftovers(ctx, isAll, visit))
	}
	return errors.Join(errs...)
}

// configured returns the resources in the configuration that are served.
func (s *selection) configured() ([]*meta.RESTMapping, error) {
	configuration := cmp.Or(s.configuration, s.readable)
	if configuration == nil {
		return nil, errors.New("give a TYPE: you cannot read the daemon's configuration, which lists them")
	}
	mapper, err := s.mapper()
	if err != nil {
		return nil, err
	}
	var all []*meta.RESTMapping
	for _, r := range configuration.Resources {
		kind, err := mapper.KindFor(r.GroupResource().WithVersion(r.Version))
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot tell what %q is: %w", r.GroupResource(), err)
		}
		m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("cannot tell what %q is: %w", r.GroupResource(), err)
		}
		all = append(all, m)
	}
	return all, nil
}

// objects visits the objects of a kind, in pages. If all kinds are selected, it is no error that the user may not list one, or that it has gone.
func (s *selection) objects(ctx context.Context, met *kindMet, allKinds bool, visit func(judge.Facts) error) error {
	var errs []error
	var err error
	var client dynamic.ResourceInterface = s.client.Resource(met.mapping.Resource)
	if met.mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = s.client.Resource(met.mapping.Resource).Namespace(s.namespace)
	}
	met.version, err = watch.Each(ctx, client, metav1.ListOptions{LabelSelector: s.labels}, func(obj *unstructured.Unstructured) {
		ref := gather.SourceRef{Mapping: met.mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		met.sources[ref.Identity()] = true
		errs = append(errs, s.one(ctx, ref, obj, visit))
	})
	kind, resource := met.mapping.GroupVersionKind.GroupKind(), met.mapping.Resource.GroupResource()
	switch {
	case err == nil:
	case allKinds && apierrors.IsForbidden(err):
		s.survey.Hide(resource.String())
		s.unread[kind], err = "you may not read its object", nil
	case allKinds && apierrors.IsNotFound(err): // no longer served, since the mapper was read
		s.unread[kind], err = notServed(kind), nil
	default:
		s.unread[kind], err = "its kind cannot be listed", fmt.Errorf("cannot list %s: %w", resource, err)
	}
	return errors.Join(append(errs, err)...)
}

func notServed(kind schema.GroupKind) string {
	return fmt.Sprintf("the API server does not serve kind %q", kind)
}

// leftovers visits the sources of Works that were not listed: they are deleted or, if all
// kinds are selected, their resource is not in the configuration. Of a kind that cannot be read, it fails once.
func (s *selection) leftovers(ctx context.Context, allKinds bool, visit func(judge.Facts) error) error {
	var errs []error
	for id := range s.survey.Sources() {
		met, listed := s.kinds[id.GroupKind()]
		if listed && met.sources[id] || !listed && !allKinds || s.namespace != "" && id.Namespace != s.namespace {
			continue
		}
		if err := s.again(ctx, id, nil, visit); err != nil {
			s.unread[id.GroupKind()] = "it cannot be read"
			if errs = append(errs, err, s.again(ctx, id, nil, visit)); errs[len(errs)-1] != nil || ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// again visits a source that a Work or an event names. It reads the object if obj is nil.
func (s *selection) again(ctx context.Context, id render.Identity, obj *unstructured.Unstructured, visit func(judge.Facts) error) error {
	if why := s.unread[id.GroupKind()]; why != "" && obj == nil {
		return visit(s.survey.Unread(id, why))
	}
	if met, ok := s.kinds[id.GroupKind()]; ok {
		return s.one(ctx, gather.SourceRef{Mapping: met.mapping, Namespace: id.Namespace, Name: id.Name}, obj, visit)
	}
	mapper, err := s.mapper()
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(id.GroupKind())
	if meta.IsNoMatchError(err) {
		return visit(s.survey.Unread(id, notServed(id.GroupKind())))
	}
	if err != nil {
		return fmt.Errorf("cannot discover resources: %w", err)
	}
	return s.one(ctx, gather.SourceRef{Mapping: mapping, Namespace: id.Namespace, Name: id.Name}, obj, visit)
}

// one visits one source. It reads the object if obj is nil.
func (s *selection) one(ctx context.Context, ref gather.SourceRef, obj *unstructured.Unstructured, visit func(judge.Facts) error) error {
	facts, err := s.survey.Facts(ctx, ref, obj)
	if err != nil {
		return err
	}
	return visit(facts)
}

// tellHidden prints in one line what the user may not read.
func tellHidden(errOut io.Writer, reader *gather.Reader) {
	if hidden := reader.Hidden(); len(hidden) > 0 {
		fmt.Fprintf(errOut, "Cannot read %s: anything that depends on this is not shown.\n", strings.Join(hidden, "; "))
	}
}
