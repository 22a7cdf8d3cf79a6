package render

import (
	"strings"
	"time"
)

// HeldKey is a label and an annotation on a Work whose deletion waits for an
// administrator's approval. The label is for look-up; the annotation says since
// when it is held, under which resource it is approved, and why the Work is not
// wanted. It is the deletion breaker's memory, which must survive the process.
const HeldKey = Domain + "deletion-held"

const (
	heldLabelValue = "true"
	// HeldTime is the format of times, in UTC. Milliseconds distinguish what was
	// held before an approval from what was held after it.
	HeldTime = "2006-01-02T15:04:05.000Z07:00"
	// HeldPrecision is the precision of HeldTime.
	HeldPrecision = time.Millisecond
)

// Hold is the parsed mark.
type Hold struct {
	Since time.Time
	// Resource has the form deployments.apps.
	Resource string
	// Because is the reason why the Work is not wanted.
	Because string
	// Whole reports that all deletions of the resource were held, not those of one namespace.
	Whole bool
	// Cluster reports that what the labels of the Work's cluster would delete was held.
	Cluster bool
	// Approved: the deletion is not held any more, as commands have found. The mark does not say so.
	Approved bool
}

// Holds reports whether a mark, nil for none, still holds the deletion.
func (h *Hold) Holds() bool { return h != nil && !h.Approved }

// wholeMark follows the resource if all of it was held, and clusterMark if it was held because of a cluster's
// labels; no resource's name contains them.
const (
	wholeMark   = "*"
	clusterMark = "@"
)

func (h Hold) String() string {
	resource := h.Resource
	switch {
	case h.Whole:
		resource += wholeMark
	case h.Cluster:
		resource += clusterMark
	}
	return h.Since.UTC().Format(HeldTime) + " " + resource + " " + h.Because
}

// ParseHold parses the mark; false if it is missing or invalid.
func ParseHold(annotations map[string]string) (Hold, bool) {
	parts := strings.SplitN(annotations[HeldKey], " ", 3)
	if len(parts) != 3 {
		return Hold{}, false
	}
	since, err := time.Parse(HeldTime, parts[0])
	resource, whole := strings.CutSuffix(parts[1], wholeMark)
	resource, cluster := strings.CutSuffix(resource, clusterMark)
	if err != nil || resource == "" {
		return Hold{}, false
	}
	return Hold{Since: since, Resource: resource, Because: parts[2], Whole: whole, Cluster: cluster}, true
}

// Patch returns a JSON merge patch that puts the mark on a Work, at exactly this
// resource version.
func (h Hold) Patch(resourceVersion string) []byte {
	return metadata{
		ResourceVersion: resourceVersion,
		Labels:          map[string]*string{HeldKey: new(heldLabelValue)},
		Annotations:     map[string]*string{HeldKey: new(h.String())},
	}.patch()
}

// Unhold returns a JSON merge patch that removes the mark from a Work, at exactly this resource version.
func Unhold(resourceVersion string) []byte {
	none := map[string]*string{HeldKey: nil}
	return metadata{ResourceVersion: resourceVersion, Labels: none, Annotations: none}.patch()
}

// patch returns a JSON merge patch of metadata alone.
func (m metadata) patch() []byte {
	return mustEncode(map[string]metadata{"metadata": m})
}
