package cli

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// suggest suggests what a resource that is not served may stand for, as in ": did you mean
// {group: apps, resource: deployments}?"; empty if nothing is like it.
func suggest(client discovery.DiscoveryInterface, gr schema.GroupResource) string {
	lists, _ := client.ServerPreferredResources() // the other groups, if one is unavailable
	var like []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if isLike(r, gv.Group, gr) {
				like = append(like, fmt.Sprintf("{group: %q, resource: %s}", gv.Group, r.Name))
			}
		}
	}
	if len(like) == 0 {
		return ""
	}
	slices.Sort(like)
	return ": did you mean " + strings.Join(like, " or ") + "?"
}

// isLike reports whether gr names a resource in some way: by its plural in another group, its
// singular, its kind or a short name.
func isLike(r metav1.APIResource, group string, gr schema.GroupResource) bool {
	if !slices.Contains(r.Verbs, "watch") || strings.Contains(r.Name, "/") || r.Name == gr.Resource && group == gr.Group {
		return false
	}
	name := strings.ToLower(gr.Resource)
	return name == r.Name || name == r.SingularName || name == strings.ToLower(r.Kind) || slices.Contains(r.ShortNames, name)
}
