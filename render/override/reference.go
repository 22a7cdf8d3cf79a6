package override

import (
	"regexp"
	"strings"
)

// reference is an image reference, in the components that Karmada overrides
// (pkg/util/imageparser/parser.go, v1.18.2). Of a tag and a digest it keeps the tag.
type reference struct{ registry, repository, tag, digest string }

// maxRepository is the limit of github.com/distribution/reference, v0.6.0, which Karmada
// parses images with. It holds for the name without what may be a registry.
const maxRepository = 255

// The grammar of github.com/distribution/reference, v0.6.0, but for digests:
// github.com/opencontainers/go-digest, v1.0.0, accepts only those of known algorithms.
const (
	domainPattern     = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
	registryPattern   = `(?:` + domainPattern + `(?:\.` + domainPattern + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	partPattern       = `[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*`
	repositoryPattern = partPattern + `(?:/` + partPattern + `)*`
	tagPattern        = `[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}`
	digestPattern     = `sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}`
	// anyDigestPattern is what may be set as a digest.
	anyDigestPattern = `[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,}`
)

var (
	referenceForm = regexp.MustCompile(`^((?:` + registryPattern + `/)?(` + repositoryPattern + `))(?::(` + tagPattern + `))?(?:@(` + digestPattern + `))?$`)
	tagForm       = regexp.MustCompile(`^` + tagPattern + `$`)
	anyDigestForm = regexp.MustCompile(`^` + anyDigestPattern + `$`)
)

func parseReference(image string) (reference, bool) {
	parts := referenceForm.FindStringSubmatch(image)
	if parts == nil || len(parts[2]) > maxRepository {
		return reference{}, false
	}
	r := reference{repository: parts[1], tag: parts[3], digest: parts[4]}
	if r.tag != "" {
		r.digest = ""
	}
	// Without a dot or a port, the first part is one of the repository.
	first, rest, found := strings.Cut(r.repository, "/")
	if found && (first == "localhost" || strings.ContainsAny(first, ".:")) {
		r.registry, r.repository = first, rest
	}
	return r, true
}

// version is the tag, or else the digest.
func (r reference) version() string {
	if r.tag != "" {
		return r.tag
	}
	return r.digest
}

// setVersion ignores what is neither a tag nor a digest, unless it removes the version.
func (r *reference) setVersion(version string, remove bool) {
	switch {
	case remove:
		r.tag, r.digest = "", ""
	case tagForm.MatchString(version):
		r.tag, r.digest = version, ""
	case anyDigestForm.MatchString(version):
		r.tag, r.digest = "", version
	}
}

func (r reference) String() string {
	name := r.repository
	if r.registry != "" {
		name = r.registry + "/" + name
	}
	switch {
	case r.tag != "":
		return name + ":" + r.tag
	case r.digest != "":
		return name + "@" + r.digest
	}
	return name
}
