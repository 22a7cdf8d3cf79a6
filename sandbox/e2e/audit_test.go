package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// auditLog is a reading of the API server's audit log from a moment on.
type auditLog struct {
	offset int64
}

func auditFromNow(t *testing.T) auditLog {
	t.Helper()
	info, err := os.Stat(env.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return auditLog{info.Size()}
}

// writes counts what the daemon has written, by "verb resource", without its
// Lease and its Events.
func (a auditLog) writes(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(env.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, 0); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the line that is being written
		}
		readOnly := slices.Contains([]string{"get", "list", "watch"}, e.Verb)
		if readOnly || !strings.HasSuffix(e.User.Username, ":"+system+":"+account) || slices.Contains([]string{"leases", "events"}, e.ObjectRef.Resource) {
			continue
		}
		key := e.Verb + " " + e.ObjectRef.Resource
		if e.ResponseStatus.Code >= 300 {
			key += fmt.Sprintf(" failed with %d", e.ResponseStatus.Code)
		}
		counts[key]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return counts
}
