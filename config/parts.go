package config

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Parts are the texts that make up a configuration, by name. Key is the one in the manifests; the
// others are the users' own, so that what they add survives an upgrade.
type Parts map[string]string

// PartsOf returns the parts in a ConfigMap: the keys that end in .yaml.
func PartsOf(data map[string]string) Parts {
	parts := maps.Clone(Parts(data))
	maps.DeleteFunc(parts, func(name, _ string) bool { return !strings.HasSuffix(name, ".yaml") })
	return parts
}

// ParseConfigMap parses the parts in a ConfigMap. If some of them have mistakes, it returns what the others say besides the error;
// nothing if Key is one of them.
func ParseConfigMap(data map[string]string) (others *Configuration, err error) {
	parts := PartsOf(data)
	if _, ok := parts[Key]; !ok {
		return nil, fmt.Errorf("it has no key %q", Key)
	}
	return parts.parse()
}

// compareNames compares names of parts by the order in which they are merged: Key first.
func compareNames(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == Key:
		return -1
	case b == Key:
		return 1
	}
	return strings.Compare(a, b)
}

// part is one decoded part.
type part struct {
	*Configuration
	name   string
	asJSON []byte
	// gives are the fields that it sets.
	gives map[string]json.RawMessage
}

// Parse decodes YAML or JSON strictly, fills in defaults and validates. It
// reports all mistakes at once, each with the path of its field.
func Parse(data []byte) (*Configuration, error) { return Parts{Key: string(data)}.Parse() }

// Parse does so with each part, and merges them in order of their names: of two entries for the
// same resource the later wins, and so do the later deletion, expand, overridePolicies and systemNamespaces fields; all authorization rules,
// allowNamespaces and strip lists hold. It reports a mistake with the part's name.
func (p Parts) Parse() (*Configuration, error) {
	merged, err := p.parse()
	if err != nil {
		return nil, err
	}
	return merged, nil
}

func (p Parts) parse() (others *Configuration, err error) {
	var parts []*part
	mistakes := map[string]error{}
	resources := sets.New[schema.GroupResource]()
	for name, text := range p {
		decoded, err := decode(text)
		if err != nil {
			mistakes[name] = err
			continue
		}
		decoded.name = name
		parts = append(parts, decoded)
		for _, r := range decoded.Resources {
			resources.Insert(r.GroupResource())
		}
	}
	slices.SortFunc(parts, func(a, b *part) int { return compareNames(a.name, b.name) })
	from := map[schema.GroupResource]string{} // the part with the entry for a resource
	merged := &Configuration{APIVersion: APIVersion, Kind: Kind, Deletion: defaultDeletion()}
	for _, decoded := range parts {
		if err := append(validateGiven(decoded.asJSON), validate(decoded.Configuration, resources)...).ToAggregate(); err != nil {
			mistakes[decoded.name] = fmt.Errorf("invalid configuration: %w", err)
			continue
		}
		for _, r := range decoded.Resources {
			if before := from[r.GroupResource()]; before != "" && before != Key { // to replace what the manifests say is usual
				merged.Replaced = append(merged.Replaced, fmt.Sprintf("resources: %s in %s replaces the one in %s: one of the two may have been meant for other namespaces", r.GroupResource(), decoded.name, before))
			}
			from[r.GroupResource()] = decoded.name
		}
		merged.merge(decoded)
	}
	if slices.ContainsFunc(merged.Resources, func(r Resource) bool { return r.Definitions == MirrorDefinitions }) {
		merged.Resources = append(merged.Resources, definitions)
	}
	if mistakes[Key] != nil {
		merged = nil
	}
	var errs []error
	for _, name := range slices.SortedFunc(maps.Keys(mistakes), compareNames) {
		errs = append(errs, p.blame(name, mistakes[name]))
	}
	return merged, errors.Join(errs...)
}

// blame adds the name of the part to a mistake, if there are several parts.
func (p Parts) blame(name string, err error) error {
	if len(p) == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func defaultDeletion() Deletion {
	return Deletion{HoldAbove: HoldAbove{Works: defaultHoldWorks, Percent: defaultHoldPercent}}
}

func decode(text string) (*part, error) {
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration as YAML: %w", err)
	}
	if err := mustBeOne(text); err != nil {
		return nil, err
	}
	decoded := &part{Configuration: &Configuration{Deletion: defaultDeletion()}, asJSON: asJSON}
	strict, err := kjson.UnmarshalStrict(asJSON, decoded.Configuration)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("cannot decode the configuration: %w", err)
	}
	_ = json.Unmarshal(asJSON, &decoded.gives) // cannot fail: it was just decoded
	return decoded, nil
}

// mustBeOne rejects several documents: only the first would be read.
func mustBeOne(text string) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	n := 0
	for {
		document, err := documents.Read()
		if err != nil { // the end, or an error that the decoder has reported
			break
		}
		var content any
		if yaml.Unmarshal(document, &content) == nil && content != nil {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("cannot decode the configuration: it has %d YAML documents, but must have one", n)
	}
	return nil
}

// merge adds what a part sets.
func (c *Configuration) merge(p *part) {
	for _, r := range p.Resources {
		same := func(other Resource) bool { return other.GroupResource() == r.GroupResource() }
		if i := slices.IndexFunc(c.Resources, same); i >= 0 {
			c.Resources[i] = r
			continue
		}
		c.Resources = append(c.Resources, r)
	}
	if deletion, given := p.gives["deletion"]; given {
		_ = json.Unmarshal(deletion, &c.Deletion) // cannot fail: it was decoded before; fields that it omits stay
	}
	if _, given := p.gives["overridePolicies"]; given {
		c.OverridePolicies = p.OverridePolicies
	}
	if p.SystemNamespaces != nil { // if empty, not the default
		c.SystemNamespaces = p.SystemNamespaces
	}
	if p.Expand.Annotations != nil {
		c.Expand = p.Expand
	}
	c.AllowNamespaces = append(c.AllowNamespaces, p.AllowNamespaces...)
	c.Strip.Labels = append(c.Strip.Labels, p.Strip.Labels...)
	c.Strip.Annotations = append(c.Strip.Annotations, p.Strip.Annotations...)
	if _, given := p.gives["authorization"]; given {
		c.Authorization = append(c.Authorization, p.Authorization...)
		if c.Authorization == nil {
			c.Authorization = []Rule{} // allows nothing
		}
	}
}
