package config

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate checks one part, given the resources of all parts.
func validate(c *Configuration, resources sets.Set[schema.GroupResource]) field.ErrorList {
	var errs field.ErrorList
	if c.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), c.APIVersion, []string{APIVersion}))
	}
	if c.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), c.Kind, []string{Kind}))
	}
	seen := sets.New[schema.GroupResource]()
	for i, r := range c.Resources {
		at := field.NewPath("resources").Index(i)
		errs = append(errs, validateResource(r, at)...)
		if seen.Has(r.GroupResource()) {
			errs = append(errs, field.Duplicate(at, r.GroupResource().String()))
		}
		seen.Insert(r.GroupResource())
	}
	for i := range c.Authorization {
		errs = append(errs, validateRule(&c.Authorization[i], resources, field.NewPath("authorization").Index(i))...)
	}
	if policies := []OverridePolicies{HonorPolicies, IgnorePolicies}; c.OverridePolicies != "" && !slices.Contains(policies, c.OverridePolicies) {
		errs = append(errs, field.NotSupported(field.NewPath("overridePolicies"), c.OverridePolicies, policies))
	}
	errs = append(errs, validateNamespaces(c)...)
	for at, globs := range map[*field.Path][]string{
		field.NewPath("strip", "labels"): c.Strip.Labels, field.NewPath("strip", "annotations"): c.Strip.Annotations, field.NewPath("expand", "annotations"): c.Expand.Annotations,
	} {
		errs = append(errs, validateKeys(globs, at)...)
	}
	return append(errs, validateHoldAbove(c.Deletion.HoldAbove, field.NewPath("deletion", "holdAbove"))...)
}

func validateResource(r Resource, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case r.Group == "":
	case r.Group == "core":
		errs = append(errs, field.Invalid(at.Child("group"), r.Group, `for the core group, omit it or write ""`))
	default:
		for _, problem := range validation.IsDNS1123Subdomain(r.Group) {
			errs = append(errs, field.Invalid(at.Child("group"), r.Group, problem))
		}
	}
	if r.Version != "" {
		for _, problem := range validation.IsDNS1035Label(r.Version) {
			errs = append(errs, field.Invalid(at.Child("version"), r.Version, problem))
		}
	}
	if r.Resource == "" {
		errs = append(errs, field.Required(at.Child("resource"), "the lower-case plural, as `kubectl api-resources` prints it"))
	} else if len(validation.IsDNS1035Label(r.Resource)) > 0 {
		errs = append(errs, field.Invalid(at.Child("resource"), r.Resource, "must be a lower-case plural without group or subresource, as in `kubectl api-resources`"))
	}
	if why, forbidden := Forbidden(r.GroupResource()); forbidden {
		errs = append(errs, field.Forbidden(at, r.GroupResource().String()+" cannot be mirrored: "+why))
	}
	switch known := []Definitions{MirrorDefinitions, IgnoreDefinitions}; {
	case r.Definitions != "" && !slices.Contains(known, r.Definitions):
		errs = append(errs, field.NotSupported(at.Child("definitions"), r.Definitions, known))
	case r.Definitions == MirrorDefinitions && !strings.Contains(r.Group, "."):
		errs = append(errs, field.Invalid(at.Child("definitions"), r.Definitions, "only custom resources have a definition, and a dot in their group"))
	}
	for i, glob := range r.Namespaces {
		if !validGlob(strings.TrimPrefix(glob, exclusion)) {
			errs = append(errs, field.Invalid(at.Child("namespaces").Index(i), glob, "must be a namespace name, with * and ? as wildcards, and ! before it to exclude it"))
		}
	}
	if included, excluded := r.namespaceGlobs(); len(included) == 0 && len(excluded) > 0 {
		errs = append(errs, field.Invalid(at.Child("namespaces"), r.Namespaces, `has only exclusions; put "*" before them to mean every other namespace`))
	}
	return errs
}

// validateKeys checks globs of the keys of labels or annotations.
func validateKeys(globs []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, glob := range globs {
		key := strings.NewReplacer("*", "x", "?", "x").Replace(glob)
		if _, err := path.Match(glob, ""); err != nil || len(validation.IsQualifiedName(key)) > 0 {
			errs = append(errs, field.Invalid(at.Index(i), glob, "must be a key such as example.com/owner, with * and ? as wildcards"))
		}
	}
	return errs
}

// validateGlobs checks globs of names of something.
func validateGlobs(globs []string, of string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, glob := range globs {
		if !validGlob(glob) {
			errs = append(errs, field.Invalid(at.Index(i), glob, "must be a "+of+" name, with * and ? as wildcards"))
		}
	}
	return errs
}

// validGlob accepts what path.Match understands, except brackets and escapes:
// no namespace has a character that would need them.
func validGlob(glob string) bool {
	name := strings.NewReplacer("*", "x", "?", "x").Replace(glob)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return false
	}
	_, err := path.Match(glob, "")
	return err == nil
}

func validateHoldAbove(h HoldAbove, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if h.Works < 0 {
		errs = append(errs, field.Invalid(at.Child("works"), h.Works, "must not be negative; 0 turns the breaker off"))
	}
	if h.Percent < 0 || h.Percent > 100 {
		errs = append(errs, field.Invalid(at.Child("percent"), h.Percent, "must be from 0 to 100"))
	}
	return errs
}
