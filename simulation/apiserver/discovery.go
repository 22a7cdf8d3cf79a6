package apiserver

import (
	"net/http"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discover answers what is not about a resource.
func (srv *Server) discover(r *request) (response, bool) {
	path := strings.Trim(r.URL.Path, "/")
	aggregated := strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2;")
	switch path {
	case "version":
		return jsonResponse(apiversion.Info{Major: "1", Minor: "35", GitVersion: "v1.35.4", Platform: "linux/amd64"}), true
	case "healthz", "livez", "readyz":
		return response{code: http.StatusOK, body: []byte("ok"), kind: "text/plain; charset=utf-8"}, true
	case "api", "apis":
		if aggregated {
			a := jsonResponse(srv.store.aggregated(path == "api"))
			a.kind = aggregatedType
			return a, true
		}
		if path == "api" {
			return jsonResponse(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
				ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{}}), true
		}
		return jsonResponse(srv.store.groups()), true
	}
	parts := strings.Split(path, "/")
	switch {
	case parts[0] == "api" && len(parts) == 2:
		return srv.store.version("", parts[1]), true
	case parts[0] == "apis" && len(parts) == 3:
		return srv.store.version(parts[1], parts[2]), true
	case parts[0] == "apis" && len(parts) == 2:
		return srv.store.group(parts[1]), true
	}
	return response{}, false
}

func jsonResponse(v any) response {
	return response{code: http.StatusOK, kind: jsonType, body: encode(v)}
}

// served returns what is served of a group and version, in alphabetical order; empty means all.
func (s *Store) served(group, version string) []Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Resource
	for _, c := range s.collections {
		if c.Group == group && c.serves(version) {
			found = append(found, c.Resource)
		}
	}
	slices.SortFunc(found, func(a, b Resource) int { return strings.Compare(a.Resource, b.Resource) })
	return found
}

// groups lists the named groups; the versions of a group are those of its resources, in the
// order of the first resource that has several.
func (s *Store) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, name := range s.groupNames() {
		if name != "" {
			list.Groups = append(list.Groups, s.apiGroup(name))
		}
	}
	return list
}

func (s *Store) groupNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for gr := range s.collections {
		if !slices.Contains(names, gr.Group) {
			names = append(names, gr.Group)
		}
	}
	slices.Sort(names)
	return names
}

func (s *Store) versions(group string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var versions []string
	for gr, c := range s.collections {
		if gr.Group != group {
			continue
		}
		for _, v := range c.Versions {
			if !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	slices.SortFunc(versions, newestFirst)
	return versions
}

func (s *Store) apiGroup(name string) metav1.APIGroup {
	g := metav1.APIGroup{Name: name}
	for _, v := range s.versions(name) {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	if len(g.Versions) > 0 {
		g.PreferredVersion = g.Versions[0]
	}
	return g
}

func (s *Store) group(name string) response {
	g := s.apiGroup(name)
	if len(g.Versions) == 0 {
		return notFound()
	}
	g.Kind, g.APIVersion = "APIGroup", "v1"
	return jsonResponse(g)
}

func (r Resource) verbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

func (s *Store) version(group, version string) response {
	found := s.served(group, version)
	if len(found) == 0 {
		return notFound()
	}
	gv := schema.GroupVersion{Group: group, Version: version}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, r := range found {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Resource, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind,
			Verbs: r.verbs(), ShortNames: r.ShortNames, Categories: r.Categories,
		})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Resource + "/status", Namespaced: r.Namespaced, Kind: r.Kind, Verbs: []string{"get", "patch", "update"},
			})
		}
		if r.Scale {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Resource + "/scale", Namespaced: r.Namespaced, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: []string{"get", "patch", "update"},
			})
		}
	}
	return jsonResponse(list)
}

// aggregated is the discovery of all groups in one answer; the core group has its own.
func (s *Store) aggregated(core bool) discoveryv2.APIGroupDiscoveryList {
	list := discoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, name := range s.groupNames() {
		if (name == "") != core {
			continue
		}
		g := discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, version := range s.versions(name) {
			v := discoveryv2.APIVersionDiscovery{Version: version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
			for _, r := range s.served(name, version) {
				v.Resources = append(v.Resources, r.discovery(version))
			}
			g.Versions = append(g.Versions, v)
		}
		list.Items = append(list.Items, g)
	}
	return list
}

func (r Resource) discovery(version string) discoveryv2.APIResourceDiscovery {
	d := discoveryv2.APIResourceDiscovery{
		Resource: r.Resource, SingularResource: r.Singular, Scope: discoveryv2.ScopeCluster, Verbs: r.verbs(),
		ResponseKind: &metav1.GroupVersionKind{Group: r.Group, Version: version, Kind: r.Kind},
		ShortNames:   r.ShortNames, Categories: r.Categories,
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

// newestFirst orders versions as discovery does.
func newestFirst(a, b string) int { return -apiversion.CompareKubeAwareVersionStrings(a, b) }
