package machine

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"time"

	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/model"
)

// costBound is how many times as much CPU it may take to judge an object again if it has the longest annotations that
// admission lets through: reading and comparing 40 KB takes more than reading 100 bytes, but one judgement must not
// take as long as a proof may be old, and hundreds of such objects must not starve the others. 14 were measured where others
// used the caches of a machine.
const costBound = 24

// ofTenants measures what edits cost, and so runs alone. CPU time is compared within one world, and the least of
// some measurements counts, so that a busy machine does not matter.
var ofTenants = &scene{
	clusters: members(30), objects: []model.Key{pages[0], deployment}, isMeasured: true,
	annotations: map[string]choices{clustersKey: {"*": 1}},
	claims:      choices{none: 1},
	steps:       choices{"put": 3, "measure": 1},
	flags:       withoutSweeps,
}

// costDrawers draw the steps of ofTenants.
var costDrawers = map[string]func(*rapid.T, *scene) step{
	"measure": func(t *rapid.T, s *scene) step {
		key, terms := s.drawObject(t), rapid.SampledFrom([]int{2, 30, 1000}).Draw(t, "terms")
		return step{fmt.Sprintf("%v with %d terms", key, terms), func(m *machine) error { return m.measure(key, terms) }}
	},
}

// measure compares what it costs to judge an object with plain annotations, and with many terms for the same clusters.
func (m *machine) measure(k model.Key, terms int) error {
	if len(m.costs) > 0 {
		return nil // one is enough
	}
	plain, err := m.costOf(k, to("*"))
	if err != nil {
		return err
	}
	long, err := m.costOf(k, wordy(terms))
	if long > costBound*plain {
		m.costs = append(m.costs, fmt.Sprintf("to judge %v with %d terms takes %s of CPU, and %s with one", k, terms, long, plain))
	}
	if err == nil {
		err = m.put(k, 0, to("*"), nil)
	}
	m.history = m.history[len(m.history)-1:] // for the model, too, is slow to judge by so many terms
	return err
}

// costOf is the CPU time that some changes of an object take that change no Work: the least of a few measurements.
func (m *machine) costOf(k model.Key, annotations map[string]string) (least time.Duration, err error) {
	for i := range 4 {
		began := cpuTime()
		for touch := range 8 {
			touched := maps.Clone(annotations)
			touched["kubectl.kubernetes.io/last-applied-configuration"] = fmt.Sprint(i, touch)
			if err := m.put(k, 0, touched, nil); err != nil {
				return 0, err
			}
			time.Sleep(300 * time.Millisecond)
		}
		if took := cpuTime() - began; i > 0 && (least == 0 || took < least) { // the first may also write Works
			least = took
		}
	}
	return least, nil
}

// wordy are annotations with many terms, which mean no more than "*".
func wordy(terms int) map[string]string {
	var globs, weights []string
	for i := range terms {
		globs = append(globs, fmt.Sprintf("*m*%d*c", i))
		weights = append(weights, fmt.Sprintf("*m*%d*c=1", i))
	}
	return map[string]string{
		clustersKey: strings.Join(globs, ",") + ",*", "karmada.target/suspend": strings.Join(globs, ","),
		"karmada.target/replicas": strings.Join(weights[:min(terms, 256)], ","), "karmada.target/waves": strings.Join(globs, ",") + ";*",
	}
}

// cpuTime is what this process has taken so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
