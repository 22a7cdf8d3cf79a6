package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
	"github.com/karmada-target/karmada-mirror/sandbox/process"
)

// cost is what a run cost.
type cost struct {
	// cpu is seconds of CPU by process.
	cpu map[string]float64
	// requests counts the API requests of the measured users, by verb and resource.
	requests map[string]int
	// disk is what etcd did to its log.
	disk disk
}

// disk counts what etcd did to its log since its start.
type disk struct {
	bytes float64 // written
	syncs float64 // number of fsyncs
	took  float64 // seconds, for all of them
}

func (d disk) since(earlier disk) disk {
	return disk{d.bytes - earlier.bytes, d.syncs - earlier.syncs, d.took - earlier.took}
}

// meter measures from its creation on.
type meter struct {
	w     *world
	pids  map[string]int
	users []string
	cpu   map[string]float64
	audit int64
	disk  disk
}

// newMeter measures the processes that serve requests, and others by name. users are the
// prefixes of the user names whose requests count.
func (w *world) newMeter(ctx context.Context, others map[string]int, users ...string) (*meter, error) {
	m := &meter{w: w, pids: map[string]int{}, users: users}
	for _, name := range []string{karmada.Etcd, karmada.APIServer, karmada.Webhook} {
		if c := w.Component(name); c.PID() != 0 {
			m.pids[name] = c.PID()
		}
	}
	maps.Copy(m.pids, others)
	var err error
	if m.disk, err = w.readDisk(ctx); err != nil {
		return nil, err
	}
	info, err := os.Stat(w.AuditLog())
	if err != nil {
		return nil, err
	}
	m.audit = info.Size()
	m.cpu, err = m.readCPU()
	return m, err
}

// readCPU returns the seconds of CPU of each process since its start.
func (m *meter) readCPU() (map[string]float64, error) {
	cpu := map[string]float64{}
	for name, pid := range m.pids {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return nil, fmt.Errorf("cannot measure %s: %w", name, err)
		}
		stat, err := process.Stat()
		if err != nil {
			return nil, fmt.Errorf("cannot measure %s: %w", name, err)
		}
		cpu[name] = stat.CPUTime()
	}
	return cpu, nil
}

const (
	// lookAfter is how often to check whether a run is over.
	lookAfter = 50 * time.Millisecond
	// calm is for how long processes at rest take next to nothing, and nextToNothing is how
	// much that is, in cores: they renew leases and check timers even then.
	calm          = 500 * time.Millisecond
	nextToNothing = 0.1
	// restPatience is how long they may go on after the last Work: Karmada's controllers
	// write its status and Events, as fast as their rate limit allows.
	restPatience = 3 * time.Minute
)

// usage is the CPU of all processes at some time, in seconds since their start.
type usage struct {
	at  time.Time
	cpu float64
}

// awaitRest waits until a run is over: the arm has nothing left to do, if it can tell, and
// then the processes are at rest. CPU spent after the last Work is part of the cost.
func (m *meter) awaitRest(ctx context.Context, unfinished func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, restPatience, fmt.Errorf("the processes are not at rest after %s", restPatience))
	defer cancel()
	ticker := time.NewTicker(lookAfter)
	defer ticker.Stop()
	var samples []usage
	var missing error
	for {
		if unfinished != nil {
			if missing = unfinished(ctx); missing == nil {
				unfinished = nil
			}
		}
		if unfinished == nil {
			cpu, err := m.readCPU()
			if err != nil {
				return err
			}
			samples = append(samples, usage{time.Now(), total(cpu)})
			if atRest(samples) {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), missing)
		}
	}
}

// atRest compares the latest sample with the latest one that is old enough.
func atRest(samples []usage) bool {
	if len(samples) == 0 {
		return false
	}
	last := samples[len(samples)-1]
	for _, s := range slices.Backward(samples) {
		if passed := last.at.Sub(s.at); passed >= calm {
			return last.cpu-s.cpu <= nextToNothing*passed.Seconds()
		}
	}
	return false
}

func total(cpu map[string]float64) float64 {
	sum := 0.0
	for _, seconds := range cpu {
		sum += seconds
	}
	return sum
}

// read returns the cost since the meter was created.
func (m *meter) read(ctx context.Context) (c cost, err error) {
	if c.cpu, err = m.readCPU(); err != nil {
		return cost{}, err
	}
	for name := range c.cpu {
		c.cpu[name] -= m.cpu[name]
	}
	now, err := m.w.readDisk(ctx)
	if err != nil {
		return cost{}, err
	}
	c.disk = now.since(m.disk)
	c.requests, err = m.requests()
	return c, err
}

// requests counts what the measured users have requested since the meter was created.
func (m *meter) requests() (map[string]int, error) {
	counts := map[string]int{}
	err := m.eachRequest(func(r request) {
		if m.counts(r.User.Username) {
			counts[r.key()]++
		}
	})
	return counts, err
}

// readsOf counts the requests for single objects, except the Lease and the configuration, which
// a new leader reads once and deletions once a second. Lists and watches fill the caches and do
// not count.
func readsOf(requests map[string]int) int {
	reads := 0
	for what, n := range requests {
		verb, resource, _ := strings.Cut(what, " ")
		resource, _, _ = strings.Cut(resource, " ")
		if verb == "get" && resource != "" && resource != "leases" && resource != "configuration" {
			reads += n
		}
	}
	return reads
}

// writesOf counts the requests that change objects.
func writesOf(requests map[string]int) int {
	writes := 0
	for what, n := range requests {
		switch verb, _, _ := strings.Cut(what, " "); verb {
		case "create", "update", "patch", "delete":
			writes += n
		}
	}
	return writes
}

func (m *meter) counts(user string) bool {
	for _, beginning := range m.users {
		if strings.HasPrefix(user, beginning) {
			return true
		}
	}
	return false
}

// readDisk reads etcd's own metrics.
func (w *world) readDisk(ctx context.Context) (disk, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	series, err := process.Scrape(ctx, w.EtcdURL()+"/metrics")
	if err != nil {
		return disk{}, fmt.Errorf("cannot read etcd's metrics: %w", err)
	}
	return disk{
		bytes: series["etcd_disk_wal_write_bytes_total"],
		syncs: series["etcd_disk_wal_fsync_duration_seconds_count"],
		took:  series["etcd_disk_wal_fsync_duration_seconds_sum"],
	}, nil
}
