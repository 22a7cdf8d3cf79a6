package apiserver

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

const (
	plainType      = "text/plain; charset=utf-8"
	aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// discover answers what is not about a resource. Groups are listed only in the aggregated form,
// which client-go asks for.
func (srv *Server) discover(r *request) (response, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch parts[0] {
	case "version":
		return jsonResponse(apiversion.Info{Major: "1", Minor: "35", GitVersion: "v1.35.4", Platform: "linux/amd64"}), true
	case "healthz", "livez", "readyz":
		return response{code: http.StatusOK, body: []byte("ok"), kind: plainType}, true
	case "api", "apis":
	default:
		return notFound(), true
	}
	core := parts[0] == "api"
	if len(parts) > 3 || core && len(parts) > 2 {
		return response{}, false
	}
	groups := slices.DeleteFunc(srv.store.groups(), func(g discoveryv2.APIGroupDiscovery) bool { return (g.Name == "") != core })
	if core {
		parts = slices.Insert(parts, 1, "") // the name of the group
	}
	switch {
	case len(parts) == 3:
		return versionResponse(groups, parts[1], parts[2]), true
	case strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2;"):
		a := jsonResponse(discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, Items: groups})
		a.kind = aggregatedType
		return a, true
	}
	return notFound(), true
}

func jsonResponse(v any) response {
	return response{code: http.StatusOK, kind: jsonType, body: encode(v)}
}

// groups is what is served, in alphabetical order; the core group has no name.
func (s *Store) groups() []discoveryv2.APIGroupDiscovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	served := map[string]map[string][]discoveryv2.APIResourceDiscovery{}
	for _, c := range s.collections {
		for _, v := range c.Versions {
			if served[c.Group] == nil {
				served[c.Group] = map[string][]discoveryv2.APIResourceDiscovery{}
			}
			served[c.Group][v] = append(served[c.Group][v], c.discovery(v))
		}
	}
	var groups []discoveryv2.APIGroupDiscovery
	for name, versions := range served {
		g := discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for version, resources := range versions {
			slices.SortFunc(resources, func(a, b discoveryv2.APIResourceDiscovery) int { return cmp.Compare(a.Resource, b.Resource) })
			g.Versions = append(g.Versions, discoveryv2.APIVersionDiscovery{Version: version, Resources: resources, Freshness: discoveryv2.DiscoveryFreshnessCurrent})
		}
		slices.SortFunc(g.Versions, func(a, b discoveryv2.APIVersionDiscovery) int { return newestFirst(a.Version, b.Version) })
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b discoveryv2.APIGroupDiscovery) int { return cmp.Compare(a.Name, b.Name) })
	return groups
}

// newestFirst orders versions as discovery does.
func newestFirst(a, b string) int { return -apiversion.CompareKubeAwareVersionStrings(a, b) }

func (r Resource) discovery(version string) discoveryv2.APIResourceDiscovery {
	d := discoveryv2.APIResourceDiscovery{
		Resource: r.Resource, SingularResource: r.Singular, Scope: discoveryv2.ScopeCluster, ShortNames: r.ShortNames, Categories: r.Categories,
		ResponseKind: &metav1.GroupVersionKind{Group: r.Group, Version: version, Kind: r.Kind},
		Verbs:        []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}
	if r.Custom {
		d.Verbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	if r.Namespaced {
		d.Scope = discoveryv2.ScopeNamespace
	}
	verbs := []string{"get", "patch", "update"}
	if r.Status {
		d.Subresources = append(d.Subresources, discoveryv2.APISubresourceDiscovery{Subresource: "status", ResponseKind: d.ResponseKind, Verbs: verbs})
	}
	if r.Scale {
		d.Subresources = append(d.Subresources, discoveryv2.APISubresourceDiscovery{
			Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Verbs: verbs})
	}
	return d
}

// versionResponse is the list of resources as it was before aggregated discovery.
func versionResponse(groups []discoveryv2.APIGroupDiscovery, group, version string) response {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: schema.GroupVersion{Group: group, Version: version}.String()}
	for _, g := range groups {
		for _, v := range g.Versions {
			if g.Name != group || v.Version != version {
				continue
			}
			for _, d := range v.Resources {
				namespaced := d.Scope == discoveryv2.ScopeNamespace
				list.APIResources = append(list.APIResources, metav1.APIResource{
					Name: d.Resource, SingularName: d.SingularResource, Namespaced: namespaced, Kind: d.ResponseKind.Kind, Verbs: d.Verbs, ShortNames: d.ShortNames, Categories: d.Categories,
				})
				for _, sub := range d.Subresources {
					r := metav1.APIResource{Name: d.Resource + "/" + sub.Subresource, Namespaced: namespaced, Kind: sub.ResponseKind.Kind, Verbs: sub.Verbs}
					if r.Kind != d.ResponseKind.Kind {
						r.Group, r.Version = sub.ResponseKind.Group, sub.ResponseKind.Version
					}
					list.APIResources = append(list.APIResources, r)
				}
			}
		}
	}
	if list.APIResources == nil {
		return notFound()
	}
	return jsonResponse(list)
}
