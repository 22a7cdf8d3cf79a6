package model

import (
	"slices"
	"strings"
)

// followsKey lists leaders. What it says goes wherever they do, which are three deep at most.
const followsKey = "karmada.target/follows"

// fits reports whether an object goes to a cluster, by what it says or since it follows others; isUnsure if that is not known of a leader, and
// isWrong if objects follow each other in a circle.
func (w *World) fits(k Key, asked request, cluster string, path ...Key) (fits, isUnsure, isWrong bool) {
	if fits = asked.fits(cluster, w.Clusters[cluster]); asked[followsKey] == "" {
		return fits, false, false
	}
	path = append(slices.Clone(path), k)
	for _, named := range terms(asked[followsKey]) {
		kind, name, _ := strings.Cut(named, "/")
		kind, _, _ = strings.Cut(kind, ".")
		leader := Key{Namespace: k.Namespace, Name: name}
		for _, known := range []string{"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Secret"} {
			if kind = strings.TrimSuffix(kind, "s"); strings.ToLower(known) == kind {
				leader.Kind = known
			}
		}
		o := w.Objects[leader]
		switch {
		case slices.Contains(path, leader):
			return false, false, true
		case name == "..":
			return false, false, true
		case len(path) > 3 || leader.Kind == "" || !w.Includes(leader):
			isUnsure = true
			continue
		case o == nil || o.Leaving:
			continue
		}
		wants, isMistaken := ask(o, w.Namespaces[k.Namespace])
		if o.Labels[policyLabel] != "" || isMistaken {
			isUnsure = true
			continue
		}
		goes, unsure, isCircle := w.fits(leader, wants, cluster, path...)
		if isCircle {
			return false, false, true
		}
		fits, isUnsure = fits || goes, isUnsure || unsure
	}
	return fits, isUnsure, false
}
