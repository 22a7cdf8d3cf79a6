package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/metadata"

	"github.com/karmada-target/karmada-mirror/mirror/state"
)

// completions is how many names a shell is offered at most.
const completions = 500

// completer offers words, or none if anything fails: a shell has no use for errors.
type completer func(cmd *cobra.Command) []string

// completeFlag completes the value of a flag.
func completeFlag(cmd *cobra.Command, flag string, offer completer) {
	// The flag exists: the caller has defined it.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return offered(offer(cmd), toComplete)
	})
}

func completeWords(cmd *cobra.Command, flag string, words ...string) {
	completeFlag(cmd, flag, func(*cobra.Command) []string { return words })
}

func completeNamespace(cmd *cobra.Command, flags *genericclioptions.ConfigFlags) {
	completeFlag(cmd, "namespace", func(cmd *cobra.Command) []string {
		return namesOf(cmd, flags, state.NamespacesResource, metav1.NamespaceAll)
	})
}

// offered returns the words that begin with what is typed already, sorted.
func offered(words []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	found := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, toComplete) })
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// complete completes TYPE NAME and TYPE/NAME.
func (s *sources) complete(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if kind, _, slashed := strings.Cut(toComplete, "/"); slashed {
		var found []string
		for _, name := range s.completeName(cmd, kind) {
			found = append(found, kind+"/"+name)
		}
		return offered(found, toComplete)
	}
	if len(args) == 0 {
		return offered(completeResource(s.flags), toComplete)
	}
	if strings.Contains(args[0], "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offered(s.completeName(cmd, args[0]), toComplete)
}

func (s *sources) completeMember(cmd *cobra.Command) []string {
	return namesOf(cmd, s.flags, state.ClustersResource, metav1.NamespaceAll)
}

// completeResource offers the resources that can be watched.
func completeResource(flags *genericclioptions.ConfigFlags) []string {
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	var found []string
	lists, _ := client.ServerPreferredResources() // the other groups, if one is unavailable
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "watch") {
				found = append(found, gv.WithResource(resource.Name).GroupResource().String())
			}
		}
	}
	return found
}

func (s *sources) completeName(cmd *cobra.Command, resource string) []string {
	mapping, err := mappingOf(s.flags, resource)
	if err != nil {
		return nil
	}
	ref, err := s.refer(mapping, "", "")
	if err != nil {
		return nil
	}
	return namesOf(cmd, s.flags, mapping.Resource, ref.Namespace)
}

// namesOf returns the names of the objects of a resource.
func namesOf(cmd *cobra.Command, flags *genericclioptions.ConfigFlags, resource schema.GroupVersionResource, namespace string) []string {
	connection, err := connect(flags)
	if err != nil {
		return nil
	}
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return nil
	}
	list, err := client.Resource(resource).Namespace(namespace).List(cmd.Context(), metav1.ListOptions{Limit: completions})
	if err != nil {
		return nil
	}
	var found []string
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	return found
}
