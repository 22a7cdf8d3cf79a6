package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// cost is what a run has cost.
type cost struct {
	// cpu is seconds of CPU by process.
	cpu map[string]float64
	// requests counts the API server's requests by verb and resource, of the users
	// that are measured.
	requests map[string]int
	// etcdBytes is by how much the data in etcd has grown.
	etcdBytes int64
}

// meter measures from its making on.
type meter struct {
	w         *world
	pids      map[string]int
	users     []string
	cpu       map[string]float64
	audit     int64
	etcdBytes int64
}

// newMeter measures the processes that serve requests, and others by name. users
// are the beginnings of user names whose requests count.
func (w *world) newMeter(ctx context.Context, others map[string]int, users ...string) (*meter, error) {
	m := &meter{w: w, pids: map[string]int{}, users: users, cpu: map[string]float64{}}
	for _, name := range []string{karmada.Etcd, karmada.APIServer, karmada.Webhook} {
		if c := w.Component(name); c.PID() != 0 {
			m.pids[name] = c.PID()
		}
	}
	for name, pid := range others {
		m.pids[name] = pid
	}
	var err error
	if m.etcdBytes, err = w.etcdBytes(ctx); err != nil {
		return nil, err
	}
	info, err := os.Stat(w.AuditLog())
	if err != nil {
		return nil, err
	}
	m.audit = info.Size()
	return m, m.each(func(name string, cpu float64) { m.cpu[name] = cpu })
}

func (m *meter) each(do func(name string, cpu float64)) error {
	for name, pid := range m.pids {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", name, err)
		}
		stat, err := process.Stat()
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", name, err)
		}
		do(name, stat.CPUTime())
	}
	return nil
}

// read is what has been spent since the meter was made.
func (m *meter) read(ctx context.Context) (cost, error) {
	c := cost{cpu: map[string]float64{}}
	if err := m.each(func(name string, cpu float64) { c.cpu[name] = cpu - m.cpu[name] }); err != nil {
		return cost{}, err
	}
	now, err := m.w.etcdBytes(ctx)
	if err != nil {
		return cost{}, err
	}
	c.etcdBytes = now - m.etcdBytes
	c.requests, err = m.requests()
	return c, err
}

// requests reads the audit log from where it was.
func (m *meter) requests() (map[string]int, error) {
	file, err := os.Open(m.w.AuditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(m.audit, 0); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r struct {
			Stage, Verb    string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource string }
			ResponseStatus struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Stage != "ResponseComplete" || !m.counts(r.User.Username) {
			continue // the line that is being written, or of somebody else
		}
		key := r.Verb + " " + r.ObjectRef.Resource
		if r.ObjectRef.Subresource != "" {
			key += "/" + r.ObjectRef.Subresource
		}
		if r.ResponseStatus.Code >= 300 {
			key += fmt.Sprintf(" (%d)", r.ResponseStatus.Code)
		}
		counts[key]++
	}
	return counts, lines.Err()
}

// writesOf counts the requests that change something.
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

// etcdBytes is the size of the data that etcd holds, without what is free in its
// file.
func (w *world) etcdBytes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status, err := w.etcd.Status(ctx, w.EtcdURL())
	if err != nil {
		return 0, fmt.Errorf("cannot read the size of etcd: %w", err)
	}
	return status.DbSizeInUse, nil
}
