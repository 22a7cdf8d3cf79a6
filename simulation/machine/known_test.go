package machine

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

// defect is a known one of the product. What fixes it moves the story to stories, and deletes the rest.
type defect struct {
	finding string
	// signs are parts of the complaints about it, which count in some worlds only.
	signs []string
	in    func(*machine) bool
	// In this scene, the story always ends with such a complaint.
	scene *scene
	story func(*machine) []act
}

// knownDefects are named by a run, which then goes on. FIND=<name> makes one of them fail, so that it shrinks.
var knownDefects = map[string]defect{
	"emptied list": {
		"a wrong list of Works releases sources whose deletion is in the foreground: only what the cache shows is waited for",
		[]string{"was released at"}, func(m *machine) bool { return m.losesWorks }, onAPIServer, func(m *machine) []act {
			return []act{m.crowd(3, 0, foreground), m.quiet, m.misled("works", fault.Truncate(0)), pause(12 * time.Second), m.deleted(pageOf(1)), pause(5 * time.Second)}
		},
	},
}

var inTwoWaves = map[string]string{clustersKey: "*", wavesKey: "m1;*"}

// explains reports whether a defect is the cause of a complaint.
func (d defect) explains(m *machine, complaint string) bool {
	return (d.in == nil || d.in(m)) && slices.ContainsFunc(d.signs, func(sign string) bool { return strings.Contains(complaint, sign) })
}

// TestKnownDefects tells the story of each, which must end with the complaint: one that is fixed leaves the list.
func TestKnownDefects(t *testing.T) {
	for name, d := range knownDefects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := inWorld(t, d.scene, func(m *machine) error {
				if err := m.tell(d.story(m)...); err != nil {
					return err
				}
				wrong := m.look()
				t.Logf("%.600q", wrong)
				if !slices.ContainsFunc(wrong, func(complaint string) bool { return d.explains(m, complaint) }) {
					return fmt.Errorf("it is not found: %s: %q", d.finding, wrong)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// explained returns the names of the known defects that explain all complaints, or none.
func (m *machine) explained(complaints []string) (names map[string]bool) {
	names = map[string]bool{}
	for _, complaint := range complaints {
		isKnown := false
		for name, d := range knownDefects {
			if d.explains(m, complaint) && os.Getenv("FIND") != name {
				names[name], isKnown = true, true
			}
		}
		if !isKnown {
			return nil
		}
	}
	return names
}

// tally counts the known defects that a scene has met.
type tally struct {
	mu    sync.Mutex
	began time.Time
	cpu   time.Duration
	first map[string]string
	times map[string]int
}

// taken is the time since the beginning, and what of a CPU this process has used: for all scenes that run.
func (c *tally) taken() string {
	return fmt.Sprintf("%.1f s (%.1f s of CPU)", time.Since(c.began).Seconds(), (cpuTime() - c.cpu).Seconds())
}

func newTally() *tally {
	return &tally{began: time.Now(), cpu: cpuTime(), first: map[string]string{}, times: map[string]int{}}
}

func (c *tally) add(names map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range names {
		if c.times[name]++; c.times[name] == 1 {
			c.first[name] = c.taken()
		}
	}
}

func (c *tally) log(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, times := range c.times {
		t.Logf("known defect %q, %d times, first after %s: %s", name, times, c.first[name], knownDefects[name].finding)
	}
}
