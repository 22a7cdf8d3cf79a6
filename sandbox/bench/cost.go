package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// cost is what a run cost.
type cost struct {
	// cpu is seconds of CPU of the arm and the processes that serve its requests, and own of
	// the arm alone.
	cpu, own float64
	requests
}

// meter measures from its creation on.
type meter struct {
	w *world
	// own are the processes of the arm, and served those that serve requests.
	own, served []int
	// users are the prefixes of the user names whose requests count.
	users    []string
	begun    cost
	auditLog int64 // its size
}

// newMeter measures processes and those that serve requests.
func (w *world) newMeter(own []int, users ...string) (*meter, error) {
	m := &meter{w: w, own: own, users: users}
	for _, name := range []string{karmada.Etcd, karmada.APIServer, karmada.Webhook} {
		m.served = append(m.served, w.Component(name).PID())
	}
	info, err := os.Stat(w.AuditLog())
	if err != nil {
		return nil, err
	}
	m.auditLog = info.Size()
	m.begun, err = m.readCPU()
	return m, err
}

// readCPU returns the seconds of CPU since the start of the processes.
func (m *meter) readCPU() (c cost, err error) {
	for i, pid := range slices.Concat(m.own, m.served) {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return cost{}, fmt.Errorf("cannot measure process %d: %w", pid, err)
		}
		stat, err := process.Stat()
		if err != nil {
			return cost{}, fmt.Errorf("cannot measure process %d: %w", pid, err)
		}
		c.cpu += stat.CPUTime()
		if i < len(m.own) {
			c.own += stat.CPUTime()
		}
	}
	return c, nil
}

const (
	// calm is for how long processes at rest take next to nothing, and nextToNothing is how
	// much that is, in cores: they renew leases and check timers even then.
	calm          = 500 * time.Millisecond
	nextToNothing = 0.1
	// restPatience is how long they may go on after the last Work: Karmada's controllers
	// write Events, as fast as their rate limit allows.
	restPatience = 3 * time.Minute
)

// awaitRest waits until a run is over: the arm has nothing left to do, if it can tell, and
// the processes are at rest. CPU spent after the last Work is part of the cost.
func (m *meter) awaitRest(ctx context.Context, unfinished func(context.Context) error) error {
	before := m.begun
	return until(ctx, restPatience, "the processes are at rest", func(ctx context.Context) error {
		time.Sleep(calm)
		now, err := m.readCPU()
		used := now.cpu - before.cpu
		before = now
		if err == nil && unfinished != nil {
			err = unfinished(ctx)
		}
		if err == nil && used > nextToNothing*calm.Seconds() {
			err = errors.New("they are not")
		}
		return err
	})
}

// read returns the cost since the meter was created.
func (m *meter) read() (cost, error) {
	c, err := m.readCPU()
	if err != nil {
		return cost{}, err
	}
	c.cpu -= m.begun.cpu
	c.own -= m.begun.own
	file, err := os.Open(m.w.AuditLog())
	if err != nil {
		return cost{}, err
	}
	defer file.Close()
	if _, err := file.Seek(m.auditLog, io.SeekStart); err != nil {
		return cost{}, err
	}
	c.requests, err = countRequests(file, m.users)
	return c, err
}

// requests counts those that have been answered.
type requests struct {
	// writes change objects, except the Lease. reports are those that change the status of a
	// Work.
	writes, reports int
	// reads are requests for single objects, except the Lease and the configuration, which a
	// new leader reads once. Lists and watches fill the caches and do not count.
	reads int
}

// countRequests reads the API server's audit log.
func countRequests(log io.Reader, users []string) (counts requests, err error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r struct {
			Stage, Verb string
			User        struct{ Username string }
			ObjectRef   struct{ Resource, Subresource, Namespace string }
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Stage != "ResponseComplete" { // or an unfinished line
			continue
		}
		if !slices.ContainsFunc(users, func(prefix string) bool { return strings.HasPrefix(r.User.Username, prefix) }) {
			continue
		}
		resource := r.ObjectRef.Resource
		switch {
		case resource == "" || resource == "leases":
		case slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb):
			counts.writes++
			if resource == worksResource.Resource && r.ObjectRef.Subresource == "status" {
				counts.reports++
			}
		case r.Verb == "get" && (resource != "configmaps" || r.ObjectRef.Namespace != configurationNamespace):
			counts.reads++
		}
	}
	return counts, lines.Err()
}
