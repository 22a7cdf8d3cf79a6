package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// request is what the API server's audit log says of an answered request.
type request struct {
	Stage, Verb    string
	User           struct{ Username string }
	ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
}

// key is the verb and the resource, and the HTTP error in parentheses. The configuration is
// distinct from other ConfigMaps.
func (r request) key() string {
	key := r.Verb + " " + r.ObjectRef.Resource
	if r.ObjectRef.Namespace == "karmada-system" && r.ObjectRef.Resource == "configmaps" {
		key = r.Verb + " configuration"
	}
	if r.ObjectRef.Subresource != "" {
		key += "/" + r.ObjectRef.Subresource
	}
	if !r.succeeded() {
		key += fmt.Sprintf(" (%d)", r.ResponseStatus.Code)
	}
	return key
}

func (r request) succeeded() bool { return r.ResponseStatus.Code < 300 }

// eachRequest reads the audit log from where it ended when the meter was created.
func (m *meter) eachRequest(visit func(request)) error {
	file, err := os.Open(m.w.AuditLog())
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(m.audit, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Stage == "ResponseComplete" { // not an unfinished line
			visit(r)
		}
	}
	return lines.Err()
}
