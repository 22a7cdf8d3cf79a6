package machine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/model"
)

// aHundred are clusters that a Deployment reaches in four waves.
var aHundred = &scene{clusters: fleetNames(), objects: []model.Key{deployment}, inWaves: true}

const (
	aHundredInWaves = "canary-*; eu-*(5); us-*(20%); *"
	// aHundredWrites is how many writes a change takes, with waves or without.
	aHundredWrites = 100
)

func fleetNames() (names []string) {
	for prefix, n := range map[string]int{"canary": 4, "eu": 26, "us": 30, "rest": 40} {
		for i := range n {
			names = append(names, fmt.Sprintf("%s-%02d", prefix, i))
		}
	}
	return names
}

// TestHundredClusters rolls a Deployment out to a hundred clusters in four waves, once well and once with a
// cluster of the second wave that fails, and has the order of all writes judged.
func TestHundredClusters(t *testing.T) {
	executor := startAPIServer(t, aHundred)
	m, err := newMachine(t, aHundred, [2]*replica{newReplica(t, "one"), newReplica(t, "other")}, executor)
	e2e.Must(t, err)
	defer m.end(context.WithoutCancel(t.Context()))
	web, annotations := inA(deployment), map[string]string{clustersKey: "*", "karmada.target/waves": aHundredInWaves}
	e2e.Must(t, m.tell(func() error { return m.put(web, 1, annotations, nil) }, m.quiet))
	for value, ails := range []string{"", "eu-17"} {
		audit := e2e.AuditFromNow(t)
		if ails != "" {
			executor.ail(ails)
		}
		e2e.Must(t, m.edit(web, value+2))
		if ails != "" {
			e2e.Must(t, m.await("the wave to stop at "+ails, func() error { return m.given(web, value+2, map[string]int{"canary": 4, "eu": 26, "us": 0, "rest": 0}) }))
			time.Sleep(3 * time.Second)
			e2e.Must(t, m.given(web, value+2, map[string]int{"canary": 4, "eu": 26, "us": 0, "rest": 0}))
		}
		e2e.Must(t, m.quiet())
		if n := audit.Writes(t)["patch works"]; n != aHundredWrites {
			t.Errorf("%q: a change takes %d writes of Works, not %d", ails, n, aHundredWrites)
		}
	}
}

// given returns an error unless so many clusters, by the beginning of their names, have a value of a
// Deployment.
func (m *machine) given(k model.Key, value int, want map[string]int) error {
	works, err := m.works()
	if err != nil {
		return err
	}
	got := map[string]int{"canary": 0, "eu": 0, "us": 0, "rest": 0}
	for _, cluster := range m.clusters {
		work := works[e2e.WorkKey(cluster, m.real(k))]
		if work == nil {
			continue
		}
		manifest, err := e2e.ManifestOf(work)
		if err != nil {
			return err
		}
		if image := fmt.Sprint(manifest.Object["spec"]); strings.Contains(image, fmt.Sprintf("web:%d", value)) {
			prefix, _, _ := strings.Cut(cluster, "-")
			got[prefix]++
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%v have it, not %v", got, want)
	}
	return nil
}
