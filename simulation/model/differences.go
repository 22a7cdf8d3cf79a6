package model

import (
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// What follows makes the copies of an object differ by cluster.

// suspends reports whether a request suspends a cluster.
func (r request) suspends(cluster string) bool {
	if word := r[suspendKey]; word == "true" || word == "false" {
		return word == "true"
	}
	in, out := split(r[suspendKey])
	return fits(in, cluster) && !fits(out, cluster)
}

// seenLabels are the labels of a Cluster by which it is selected: its own, and what its spec
// says.
func (o *Object) seenLabels() labels.Set {
	seen := labels.Set{}
	for key, value := range map[string]string{
		"topology.kubernetes.io/region": o.Region, "topology.kubernetes.io/zone": o.zone(), "cluster.karmada.io/provider": o.Provider,
	} {
		if value != "" {
			seen[key] = value
		}
	}
	maps.Copy(seen, o.Labels)
	return seen
}

// isSelected reports whether a selector fits a Cluster: for one in several zones, if it fits one of them, and if it names zones to avoid,
// each.
func (o *Object) isSelected(selector labels.Selector) bool {
	seen := o.seenLabels()
	if _, isOwn := seen["topology.kubernetes.io/zone"]; isOwn || len(o.Zones) == 0 {
		return selector.Matches(seen)
	}
	fitting := 0
	for _, zone := range o.Zones {
		seen["topology.kubernetes.io/zone"] = zone
		if selector.Matches(seen) {
			fitting++
		}
	}
	return fitting == len(o.Zones) || fitting > 0 && !strings.Contains(selector.String(), "!=")
}

// zone is the only zone of a Cluster.
func (o *Object) zone() string {
	if len(o.Zones) == 1 {
		return o.Zones[0]
	}
	return ""
}

// variables matches a variable, also one that is not closed, and before it what stands for the
// plain text "$(cluster.".
var variables = regexp.MustCompile(`\$\$\(cluster\.|\$\(cluster\.[^)]*\)?`)

// expand replaces the variables in a text, unless one of them stands for nothing.
func expand(text, name string, cluster *Object) (expanded string, isKnown bool) {
	isKnown = true
	expanded = variables.ReplaceAllStringFunc(text, func(found string) string {
		if plain, isPlain := strings.CutPrefix(found, "$$"); isPlain {
			return "$" + plain
		}
		variable, isClosed := strings.CutSuffix(strings.TrimPrefix(found, "$(cluster."), ")")
		variable, otherwise, hasDefault := strings.Cut(variable, ":-")
		value, is, exists := cluster.variable(variable, name)
		isKnown = isKnown && isClosed && exists && (is || hasDefault)
		if !is {
			return otherwise
		}
		return value
	})
	return expanded, isKnown
}

// variable is the value of a variable on a cluster: whether it has one, and whether there is
// such a variable.
func (o *Object) variable(variable, name string) (value string, is, exists bool) {
	kind, key, hasKey := strings.Cut(variable, ":")
	switch {
	case kind == "label" && key != "":
		value, is = o.seenLabels()[key]
		return value, is, true
	case kind == "annotation" && key != "":
		value, is = o.Annotations[key]
		return value, is, true
	}
	value, exists = map[string]string{"name": name, "region": o.Region, "zone": o.zone(), "provider": o.Provider}[kind]
	return value, value != "", exists && !hasKey
}

// expanded is a content with what its variables stand for on a cluster. Only string values have
// variables, and the data of a Secret, which is encoded, has none.
func (c *Content) expanded(kind, name string, cluster *Object) (copy *Content, isKnown bool) {
	if c == nil {
		return nil, true
	}
	isKnown = true
	var in func(value any) any
	in = func(value any) any {
		switch v := value.(type) {
		case string:
			text, known := expand(v, name, cluster)
			isKnown = isKnown && known
			return text
		case []any:
			items := slices.Clone(v)
			for i, item := range items {
				items[i] = in(item)
			}
			return items
		case map[string]any:
			fields := maps.Clone(v)
			for key, field := range fields {
				fields[key] = in(field)
			}
			return fields
		}
		return value
	}
	inTexts := func(texts map[string]string) map[string]string {
		texts = maps.Clone(texts)
		for key, text := range texts {
			texts[key] = in(text).(string)
		}
		return texts
	}
	copy = &Content{Identity: c.Identity, Payload: maps.Clone(c.Payload), Labels: inTexts(c.Labels), Annotations: inTexts(c.Annotations)}
	for key, field := range copy.Payload {
		if kind != "Secret" || key != "data" {
			copy.Payload[key] = in(field)
		}
	}
	return copy, isKnown
}

// weights are the weights that a value of replicasKey gives to globs.
func weights(value string) (all map[string]int64, ok bool) {
	all = map[string]int64{}
	for _, item := range terms(value) {
		glob, number, _ := strings.Cut(item, "=")
		glob = strings.TrimSpace(glob)
		weight, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if _, isTwice := all[glob]; err != nil || weight < 0 || weight > 1_000_000 || glob == "" || strings.HasPrefix(glob, "!") || isTwice {
			return nil, false
		}
		all[glob] = weight
	}
	return all, len(all) > 0
}

// share is how many of an object's replicas a cluster gets, of those that exist and that it asks
// for, even where no rule allows it. As in Karmada
// (pkg/util/helper/webstermethod.go, v1.18.2), one replica after another goes to where weight
// over twice the replicas plus one is highest; of equals, to the fewest replicas, and then to
// the first or last name, by the object's UID, unless all Works are as if it were the other way.
func (w *World) share(k Key, asked request, cluster string) (share int64, isDivided bool) {
	o := w.Objects[k]
	replicas, hasReplicas := o.Content.replicas()
	by, hasWeights := weights(asked[replicasKey])
	if !hasReplicas || !hasWeights && strings.TrimSpace(asked[replicasKey]) != "divide" {
		return 0, false
	}
	weight := map[string]int64{}
	for name := range w.Clusters {
		if fits, _, _ := w.fits(k, asked, name); !fits {
			continue
		}
		highest, isMatched := int64(0), false
		for glob, n := range by {
			if fits([]string{glob}, name) {
				highest, isMatched = max(highest, n), true
			}
		}
		if !isMatched {
			highest = 1
		}
		if highest > 0 {
			weight[name] = highest
		}
	}
	names := slices.Sorted(maps.Keys(weight))
	hash := fnv.New32a()
	hash.Write([]byte(o.UID))
	if o.UID != "" && hash.Sum32()%2 == 1 {
		slices.Reverse(names)
	}
	shares := divided(replicas, names, weight)
	slices.Reverse(names)
	if others := divided(replicas, names, weight); !w.have(k, shares) && w.have(k, others) {
		shares = others
	}
	return shares[cluster], true
}

// have says whether all Works of an object have these shares.
func (w *World) have(k Key, shares map[string]int64) bool {
	for place, has := range w.Shares {
		if share, isDivided := shares[place.Cluster]; place.Key == k && isDivided && has != share {
			return false
		}
	}
	return true
}

// divided gives the replicas to clusters. The first of equals gets the next.
func divided(replicas int64, names []string, weight map[string]int64) map[string]int64 {
	shares := map[string]int64{}
	for _, name := range names {
		shares[name] = 0
	}
	for ; replicas > 0 && len(names) > 0; replicas-- {
		next := names[0]
		for _, name := range names[1:] {
			mine, best := weight[name]*(2*shares[next]+1), weight[next]*(2*shares[name]+1)
			if mine > best || mine == best && shares[name] < shares[next] {
				next = name
			}
		}
		shares[next]++
	}
	return shares
}

// replicas is the number of replicas that a content asks for.
func (c *Content) replicas() (n int64, ok bool) {
	if c == nil {
		return 0, false
	}
	spec, _ := c.Payload["spec"].(map[string]any)
	n, ok = spec["replicas"].(int64)
	return n, ok
}

// WithReplicas is a content with another number of replicas, if it has one.
func (c *Content) WithReplicas(n int64) *Content {
	if _, has := c.replicas(); !has {
		return c
	}
	spec := maps.Clone(c.Payload["spec"].(map[string]any))
	spec["replicas"] = n
	payload := maps.Clone(c.Payload)
	payload["spec"] = spec
	return &Content{Identity: c.Identity, Payload: payload, Labels: c.Labels, Annotations: c.Annotations}
}
