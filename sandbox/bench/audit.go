package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// writesStatusOf reports whether the request wrote the status of a source.
func (r request) writesStatusOf(resource schema.GroupVersionResource) bool {
	o := r.ObjectRef
	return o.Namespace == namespace && o.APIGroup == resource.Group && o.Resource == resource.Resource && o.Subresource == "status" &&
		(r.Verb == "update" || r.Verb == "patch") && r.succeeded()
}

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

// statusWrites counts how often the status of each source was written, by any user.
func (m *meter) statusWrites(resource schema.GroupVersionResource) (map[string]int, error) {
	counts := map[string]int{}
	err := m.eachRequest(func(r request) {
		if r.writesStatusOf(resource) {
			counts[r.ObjectRef.Name]++
		}
	})
	return counts, err
}
