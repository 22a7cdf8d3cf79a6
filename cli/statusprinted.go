package cli

import (
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
)

// printedLines are the last lines of each source, by their place.
type printedLines map[render.Identity]map[string]mirrorStatus

// place tells the lines of a source apart: the cluster or, for the line that sums up others, what no
// cluster is called.
func (s mirrorStatus) place() string {
	if s.Clusters != nil {
		return "*"
	}
	return s.Cluster
}

// news remembers the lines that a source has now, and returns those that say something new, with
// one for each that is gone.
func (t printedLines) news(id render.Identity, lines []mirrorStatus) (news []mirrorStatus) {
	before, now := t[id], map[string]mirrorStatus{}
	for _, line := range lines {
		now[line.place()] = line
		if told, ok := before[line.place()]; !ok || !reflect.DeepEqual(told.withoutAge(), line.withoutAge()) {
			news = append(news, line)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(before)) {
		if _, isThere := now[place]; isThere {
			continue
		}
		if message := before[place].goneLine(len(lines)); message != "" {
			line := newStatusLine(id)
			line.Cluster, line.Message = before[place].Cluster, message
			news = append(news, line)
		}
	}
	if t[id] = now; len(now) == 0 {
		delete(t, id)
	}
	return news
}

// withoutAge returns a line without what passes by itself.
func (s mirrorStatus) withoutAge() mirrorStatus {
	if s.Work != nil {
		work := *s.Work
		work.CreationTimestamp, work.Reported, work.downSince = metav1.Time{}, time.Time{}, time.Time{}
		s.Work = &work
	}
	if s.Clusters != nil {
		clusters := *s.Clusters
		clusters.CreationTimestamp = nil
		s.Clusters = &clusters
	}
	return s
}

// goneLine returns the message for a line that is gone, if the source has some others; empty if
// these say enough.
func (s mirrorStatus) goneLine(others int) string {
	switch {
	case s.Work != nil:
		return "its Work was deleted"
	case s.Cluster != "":
		return "it no longer asks for this cluster"
	case s.Clusters == nil && others == 0:
		return "it no longer asks to be mirrored"
	}
	return ""
}
