package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// pageSize is how many objects a list asks for at once.
const pageSize = 500

// statusCommand lists what is mirrored where.
type statusCommand struct {
	*sources
	allNamespaces, watch bool
	output               string
	errOut               io.Writer

	// namespace is the one that is looked at; empty for all.
	namespace string
	states    workStates
	survey    *gather.Survey
	printer   statusPrinter
	// kinds are those that are listed, with the sources of them that were met.
	kinds map[schema.GroupKind]map[render.Identity]bool
}

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [RESOURCE [NAME]]",
		Short: "List what is mirrored where, and how far Karmada has come with it",
		Long: "status decides as the daemon does, by reads of its own, and lists a line for each object and cluster: of one\n" +
			"object, of a resource, or of all resources of the configuration. It needs the right to read them, Clusters,\n" +
			"Works and the daemon's ConfigMap (the ClusterRole karmada-mirror-viewer, besides the objects), and none to write.",
		Example: "  karmada-mirror status -A\n  karmada-mirror status deploy -n shop\n  karmada-mirror status deploy cart -n shop -w",
		Args:    cobra.MaximumNArgs(2),
	}
	s := &statusCommand{sources: newSources(cmd), states: workStates{}, kinds: map[schema.GroupKind]map[render.Identity]bool{}}
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "of all namespaces")
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "after the list, print each line again whose Work changes, until interrupted")
	cmd.Flags().StringVarP(&s.output, "output", "o", "", "wide, json or yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.errOut = cmd.ErrOrStderr()
		var err error
		if s.printer, err = newStatusPrinter(s.output, s.watch, cmd.OutOrStdout()); err != nil {
			return err
		}
		return withRights(s.run(cmd.Context(), args))
	}
	return cmd
}

func (s *statusCommand) run(ctx context.Context, args []string) error {
	reader, err := s.reader(ctx)
	if err != nil {
		return err
	}
	if !s.allNamespaces {
		if s.namespace, _, err = s.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	progress := newProgress(s.errOut, "reading Works")
	reader.Seen = func(obj *unstructured.Unstructured) {
		s.states.note(obj)
		progress.step()
	}
	s.survey, err = reader.Survey(ctx, s.namespace)
	progress.done()
	if err != nil {
		return err
	}
	// What can be listed is printed, whatever else cannot.
	err = errors.Join(s.list(ctx, args), s.printer.flush())
	if err == nil && s.watch {
		err = s.follow(ctx, args)
	}
	if s.printer.printed() == 0 && err == nil && !s.watch {
		fmt.Fprintln(s.errOut, "Nothing is mirrored here, and nothing asks for it.")
	}
	return err
}

// list prints what the arguments ask for.
func (s *statusCommand) list(ctx context.Context, args []string) error {
	if len(args) == 2 {
		return s.named(ctx, args[0], args[1])
	}
	mappings, err := s.mappings(args)
	if err != nil {
		return err
	}
	var resources []string
	for _, m := range mappings {
		s.kinds[m.GroupVersionKind.GroupKind()] = map[render.Identity]bool{}
		resources = append(resources, m.Resource.Resource+"."+m.Resource.Version+"."+m.Resource.Group)
	}
	var errs []error
	if len(resources) > 0 {
		errs = append(errs, s.objects(ctx, resources))
	}
	return errors.Join(append(errs, s.leftovers(ctx, len(args) == 0))...)
}

// named prints the lines of one source.
func (s *statusCommand) named(ctx context.Context, resource, name string) error {
	ref, err := s.find(resource, name)
	if err != nil {
		return err
	}
	facts, err := s.survey.Facts(ctx, ref, nil)
	if err != nil {
		return err
	}
	if facts.Unknown == "" && facts.Source == nil && len(facts.Works) == 0 {
		return fmt.Errorf("there is no %s, and no Work of it is left", facts.ID)
	}
	return s.print(facts)
}

// mappings are the resources that are listed: those of the configuration that are
// served, unless there are arguments.
func (s *statusCommand) mappings(args []string) ([]*meta.RESTMapping, error) {
	if len(args) > 0 {
		m, err := mappingOf(s.flags, args[0])
		return []*meta.RESTMapping{m}, err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("cannot discover resources: %w", err)
	}
	var all []*meta.RESTMapping
	for _, r := range s.configuration.Resources {
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

// objects lists resources in pages.
func (s *statusCommand) objects(ctx context.Context, resources []string) error {
	return resource.NewBuilder(genericclioptions.RESTClientGetter(s.flags)).Unstructured().ContinueOnError().
		NamespaceParam(s.namespace).DefaultNamespace().AllNamespaces(s.allNamespaces).
		ResourceTypeOrNameArgs(true, strings.Join(resources, ",")).RequestChunksOf(pageSize).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			ref, err := s.refer(info.Mapping, info.Namespace, info.Name)
			if err != nil {
				return err
			}
			s.kinds[info.Mapping.GroupVersionKind.GroupKind()][ref.Identity()] = true
			return s.one(ctx, ref, info.Object.(*unstructured.Unstructured))
		})
}

// leftovers are the Works whose sources were not listed: they are gone, or, if all
// kinds are asked for, of a resource that the configuration does not have.
func (s *statusCommand) leftovers(ctx context.Context, allKinds bool) error {
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return fmt.Errorf("cannot discover resources: %w", err)
	}
	for id := range s.survey.Sources() {
		met, listed := s.kinds[id.GroupKind()]
		if met[id] || !listed && !allKinds || s.namespace != "" && id.Namespace != s.namespace {
			continue
		}
		mapping, err := mapper.RESTMapping(id.GroupKind())
		if meta.IsNoMatchError(err) {
			err = s.print(s.survey.Unserved(id))
		} else if err == nil {
			err = s.one(ctx, gather.SourceRef{Mapping: mapping, Namespace: id.Namespace, Name: id.Name}, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one prints the lines of one source; obj is nil if it is to be read.
func (s *statusCommand) one(ctx context.Context, ref gather.SourceRef, obj *unstructured.Unstructured) error {
	facts, err := s.survey.Facts(ctx, ref, obj)
	if err != nil {
		return err
	}
	return s.print(facts)
}

func (s *statusCommand) print(f judge.Facts) error {
	for _, line := range statusesOf(f, s.states) {
		if err := s.printer.print(line); err != nil {
			return err
		}
	}
	return nil
}

// selects reports whether a source is among what the arguments ask for.
func (s *statusCommand) selects(args []string, id render.Identity) (bool, error) {
	if id.Kind == "" || s.namespace != "" && id.Namespace != "" && id.Namespace != s.namespace {
		return false, nil // the first says nothing of its source
	}
	if len(args) == 0 {
		return true, nil
	}
	mapping, err := mappingOf(s.flags, args[0])
	if err != nil {
		return false, err
	}
	return id.GroupKind() == mapping.GroupVersionKind.GroupKind() && (len(args) == 1 || id.Name == args[1]), nil
}

// follow prints the line of each Work that changes, until ctx is done.
func (s *statusCommand) follow(ctx context.Context, args []string) error {
	works, err := watchWorks(ctx, s.client, s.survey.Version)
	if err != nil {
		return err
	}
	defer works.Stop()
	for event := range works.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("cannot watch the Works any longer: %w", errorOf(event.Object))
		}
		w := state.NewWork(obj)
		if selected, err := s.selects(args, w.Source); err != nil || !selected {
			if err != nil {
				return err
			}
			continue
		}
		line := changedStatus(w, obj, event.Type)
		if err := errors.Join(s.printer.print(line), s.printer.flush()); err != nil {
			return err
		}
	}
	return nil
}
