package requests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// step is a request as plain data. In it, these stand for what the server has answered so far,
// with an object written as resource/name:
//
//	{ns}            the Namespace of the sequence
//	{rv OBJECT}     its last version
//	{stale OBJECT}  the version before that one
//	{uid OBJECT}    its UID
//	{begin}         the version of the Namespace when the sequence began
//	{continue}      the last continue token
type step struct {
	Method, Path, Type, Body string
	// Accept is empty for JSON.
	Accept string
}

// sequence is what is sent to both servers, and what is watched at its end.
type sequence struct {
	Steps []step
	// Watches are paths with a query; each is read up to an object that is created for that.
	Watches []string
}

// String prints a sequence as a row of the table in regressions_test.go.
func (s sequence) String() string {
	var b strings.Builder
	b.WriteString("{Steps: []step{\n")
	for _, r := range s.Steps {
		fmt.Fprintf(&b, "\t{%q, %q, %q, %s, %q},\n", r.Method, r.Path, r.Type, quote(r.Body), r.Accept)
	}
	b.WriteString("}, Watches: []string{")
	for i, w := range s.Watches {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", w)
	}
	b.WriteString("}},")
	return b.String()
}

func quote(body string) string {
	if strings.Contains(body, "`") {
		return fmt.Sprintf("%q", body)
	}
	return "`" + body + "`"
}

// side is one of the two servers during one sequence, with what it has answered.
type side struct {
	client    *http.Client
	base      string
	namespace string

	versions map[string][]string // by object, the last one last
	uids     map[string]string
	token    string
	begin    string

	// In the order in which they were first seen.
	seenVersions, seenUIDs []string
}

func newSide(client *http.Client, base, namespace string) *side {
	return &side{client: client, base: base, namespace: namespace, versions: map[string][]string{}, uids: map[string]string{}}
}

var placeholder = regexp.MustCompile(`\{(ns|rv|stale|uid|begin|continue)( [^}]*)?\}`)

func (s *side) fill(template string) string {
	return placeholder.ReplaceAllStringFunc(template, func(p string) string {
		word, object, _ := strings.Cut(strings.Trim(p, "{}"), " ")
		versions := s.versions[object]
		switch word {
		case "ns":
			return s.namespace
		case "begin":
			return s.begin
		case "continue":
			return s.token
		case "uid":
			if uid := s.uids[object]; uid != "" {
				return uid
			}
			return "00000000-0000-0000-0000-000000000000"
		case "stale":
			if n := len(versions); n > 1 {
				return versions[n-2]
			}
			return "1"
		}
		if len(versions) > 0 {
			return versions[len(versions)-1]
		}
		return ""
	})
}

// learn notes what an answer says of the object of a path.
func (s *side) learn(path string, body any) {
	o, _ := body.(map[string]any)
	m, _ := o["metadata"].(map[string]any)
	if token, ok := m["continue"].(string); ok {
		s.token = token
	}
	name, _ := m["name"].(string)
	version, _ := m["resourceVersion"].(string)
	uid, _ := m["uid"].(string)
	if name == "" || version == "" {
		return
	}
	object := resourceOf(path) + "/" + name
	if known := s.versions[object]; len(known) == 0 || known[len(known)-1] != version {
		s.versions[object] = append(known, version)
	}
	s.uids[object] = uid
}

func resourceOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	_, rest, namespaced := strings.Cut(path, "/namespaces/")
	if parts := strings.Split(rest, "/"); namespaced && len(parts) > 1 && parts[1] != "status" && parts[1] != "finalize" {
		return parts[1]
	}
	return "namespaces"
}

func decode(data []byte) any {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	return v
}
