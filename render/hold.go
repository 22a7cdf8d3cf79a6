package render

import (
	"strings"
	"time"
)

// HeldKey is a label and an annotation on a Work whose deletion waits for an
// administrator's approval. The label is for look-up; the annotation says since
// when, by the name of which resource it is approved, and why the Work is not
// wanted. It is the deletion breaker's memory, which must survive the process.
const HeldKey = ownPrefix + "deletion-held"

const (
	heldLabelValue = "true"
	// HeldTime is how times are written, in UTC. Milliseconds tell what was held
	// before an approval from what was held after it.
	HeldTime = "2006-01-02T15:04:05.000Z07:00"
	// HeldPrecision is that of HeldTime.
	HeldPrecision = time.Millisecond
)

// Hold is what the mark says.
type Hold struct {
	Since time.Time
	// Resource is of the form deployments.apps.
	Resource string
	// Because is why the Work is not wanted any more.
	Because string
	// Whole: all deletions of the resource were held then, and not those of one namespace.
	Whole bool
}

// wholeMark is behind the resource if all of it was held; no resource has it in its name.
const wholeMark = "*"

func (h Hold) String() string {
	resource := h.Resource
	if h.Whole {
		resource += wholeMark
	}
	return h.Since.UTC().Format(HeldTime) + " " + resource + " " + h.Because
}

// ParseHold reads the mark; false if there is none that can be read.
func ParseHold(annotations map[string]string) (Hold, bool) {
	parts := strings.SplitN(annotations[HeldKey], " ", 3)
	if len(parts) != 3 {
		return Hold{}, false
	}
	since, err := time.Parse(HeldTime, parts[0])
	resource, whole := strings.CutSuffix(parts[1], wholeMark)
	if err != nil || resource == "" {
		return Hold{}, false
	}
	return Hold{Since: since, Resource: resource, Because: parts[2], Whole: whole}, true
}

// Patch is a JSON merge patch that puts the mark on a Work, at exactly this
// resource version.
func (h Hold) Patch(resourceVersion string) []byte {
	return metadata{
		ResourceVersion: resourceVersion,
		Labels:          map[string]*string{HeldKey: new(heldLabelValue)},
		Annotations:     map[string]*string{HeldKey: new(h.String())},
	}.patch()
}

// patch is a JSON merge patch of nothing but metadata.
func (m metadata) patch() []byte {
	return mustEncode(map[string]metadata{"metadata": m})
}
