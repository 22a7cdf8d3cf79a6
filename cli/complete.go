package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// completions is how many names a shell is offered at most.
const completions = 500

// complete completes RESOURCE NAME. Whatever goes wrong, a shell wants to hear nothing
// of it.
func (s *sources) complete(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var found []string
	switch len(args) {
	case 0:
		found = s.completeResource()
	case 1:
		found = s.completeName(cmd, args[0])
	}
	found = slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, toComplete) })
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// completeResource offers what can be watched.
func (s *sources) completeResource() []string {
	client, err := s.flags.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	var found []string
	lists, _ := client.ServerPreferredResources() // what there is of it, if a group is away
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
	ref, err := s.find(resource, "")
	if err != nil {
		return nil
	}
	connection, err := connect(s.flags)
	if err != nil {
		return nil
	}
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return nil
	}
	list, err := client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).List(cmd.Context(), metav1.ListOptions{Limit: completions})
	if err != nil {
		return nil
	}
	var found []string
	for i := range list.Items {
		found = append(found, list.Items[i].Name)
	}
	return found
}
