package requests

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

const (
	jsonType    = "application/json"
	partial     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	partialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// kind is a resource, and what its objects say for a value.
type kind struct {
	root, resource, apiVersion, kind, contents string
	status, scale, custom                      bool
}

var kinds = []kind{
	{root: "/api/v1", resource: "configmaps", apiVersion: "v1", kind: "ConfigMap", contents: `"data":{"v":"%s"}`},
	{root: "/api/v1", resource: "secrets", apiVersion: "v1", kind: "Secret", contents: `"type":"Opaque","stringData":{"v":"%s"}`},
	{root: "/api/v1", resource: "serviceaccounts", apiVersion: "v1", kind: "ServiceAccount", contents: `"imagePullSecrets":[{"name":"v%s"}]`},
	{root: "/api/v1", resource: "events", apiVersion: "v1", kind: "Event", contents: `"involvedObject":{"kind":"ConfigMap","name":"v%s","namespace":"{ns}"},"reason":"Drawn","type":"Normal"`},
	{root: "/apis/coordination.k8s.io/v1", resource: "leases", apiVersion: "coordination.k8s.io/v1", kind: "Lease", contents: `"spec":{"holderIdentity":"v%s"}`},
	{root: "/apis/rbac.authorization.k8s.io/v1", resource: "roles", apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", contents: `"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["v%s"]}]`},
	{root: "/apis/networking.k8s.io/v1", resource: "networkpolicies", apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", contents: `"spec":{"podSelector":{"matchLabels":{"v":"%s"}},"policyTypes":["Ingress"]}`},
	{root: "/apis/pinned.example.org/v1", resource: "things", apiVersion: "pinned.example.org/v1", kind: "Thing", contents: `"spec":{"replicas":%s,"unknown":1,"free":{"null":null,"list":[{"null":null},null]}},"status":{"replicas":%[1]s}`, status: true, scale: true, custom: true},
	{root: "/apis/pinned.example.org/v1beta1", resource: "things", apiVersion: "pinned.example.org/v1beta1", kind: "Thing", contents: `"spec":{"replicas":%s},"status":{"replicas":%[1]s}`, status: true, scale: true, custom: true},
	{root: "/apis/pinned.example.org/v1", resource: "looses", apiVersion: "pinned.example.org/v1", kind: "Loose", contents: `"v":%s,"status":{"v":%[1]s}`, custom: true},
	{root: "/apis/work.karmada.io/v1alpha1", resource: "works", apiVersion: "work.karmada.io/v1alpha1", kind: "Work", status: true, custom: true,
		contents: `"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"l":"x"}},"data":{"v":"%s"},"free":null}]}},"status":{"conditions":[{"type":"Applied","status":"True","reason":"R%[1]s","message":"","lastTransitionTime":"2020-01-01T00:00:00Z"}]}`},
}

func (k kind) collection() string { return k.root + "/namespaces/{ns}/" + k.resource }

func (k kind) object(name string) string { return k.collection() + "/" + name }

// drawSequence draws a sequence about a few objects of one or two kinds.
func drawSequence(t *rapid.T) sequence {
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 2, func(k kind) string { return k.apiVersion + k.kind }).Draw(t, "kinds")
	drawn := rapid.Custom(func(t *rapid.T) step { return drawStep(t, rapid.SampledFrom(some).Draw(t, "kind")) })
	q := sequence{Steps: rapid.SliceOfN(drawn, 1, 9).Draw(t, "steps")}
	generated := false // the order of two generated names is not known
	for i, s := range q.Steps {
		if generated {
			q.Steps[i].Body = strings.Replace(s.Body, `"generateName":"gen-"`, `"name":"c"`, 1)
		}
		generated = generated || strings.Contains(s.Body, "generateName")
	}
	if rapid.IntRange(0, 2).Draw(t, "watches") == 0 {
		q.Watches = append(q.Watches, drawWatch(t, some[0]))
	}
	return q
}

func one(t *rapid.T, what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }

func drawStep(t *rapid.T, k kind) step {
	name := one(t, "name", "a", "a", "a", "b")
	s := step{Method: "POST", Path: k.collection(), Type: jsonType}
	switch verb := one(t, "verb", "create", "create", "create", "put", "put", "merge", "merge", "json", "strategic", "status", "scale", "delete", "delete", "delete", "get", "list", "page", "deletecollection", "namespace", "odd"); verb {
	case "create":
		s.Body = drawObject(t, k, one(t, "created", "a", "a", "b", "gen-", "A_b", ""), false)
	case "put":
		s.Method, s.Path, s.Body = "PUT", k.object(name), drawObject(t, k, name, true)
	case "merge":
		s.Method, s.Path, s.Type, s.Body = "PATCH", k.object(name), merge, drawPatch(t, k, name)
	case "strategic":
		s.Method, s.Path, s.Type, s.Body = "PATCH", k.object(name), "application/strategic-merge-patch+json", drawPatch(t, k, name)
	case "json":
		s.Method, s.Path, s.Type, s.Body = "PATCH", k.object(name), "application/json-patch+json", drawJSONPatch(t, k, name)
	case "status":
		s = drawStatus(t, k, name)
	case "scale":
		s = drawScale(t, k, name)
	case "delete":
		s.Method, s.Path, s.Body = "DELETE", k.object(name), drawDeletion(t, k, name)
	case "deletecollection":
		s.Method, s.Path, s.Type = "DELETE", k.collection()+"?labelSelector="+drawSelector(t), ""
	case "get":
		s = step{Method: "GET", Path: k.object(name)}
	case "list", "page":
		s = step{Method: "GET", Path: k.collection() + drawList(t, k)}
	case "namespace":
		s = drawNamespace(t, k)
	default:
		s = drawOdd(t, k, name)
	}
	switch {
	case s.Method == "GET" && strings.Contains(s.Path, "?"):
		s.Accept = one(t, "accept", "", "", partialList)
	case s.Method != "DELETE":
		s.Accept = one(t, "accept", "", "", "", partial)
	}
	if s.Method != "GET" && !strings.Contains(s.Path, "?") {
		s.Path += one(t, "dry", "", "", "", "", "", "", "", "?dryRun=All")
	}
	return s
}

func drawValue(t *rapid.T) string { return one(t, "value", "1", "2", "3") }

// drawMeta draws the fields of an object's metadata, without its name.
func drawMeta(t *rapid.T, k kind, name string, update bool) []string {
	object := k.resource + "/" + name
	var fields []string
	add := func(what string, options ...string) {
		if field := one(t, what, options...); field != "" {
			fields = append(fields, field)
		}
	}
	add("labels", "", `"labels":{"l":"x"}`, `"labels":{"l":"y"}`, `"labels":{"l":"x","m":"z"}`, `"labels":{"-":"no/"}`)
	add("annotations", "", "", `"annotations":{"a":"1"}`, `"annotations":{"a":"2"}`)
	add("finalizers", "", "", `"finalizers":["example.org/f"]`, `"finalizers":[]`, `"finalizers":["example.org/f","example.org/g"]`)
	add("namespace", "", "", "", `"namespace":"{ns}"`, `"namespace":"other"`)
	add("else", "", "", "", `"generation":7`, `"unknown":1`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`, `"creationTimestamp":"2020-01-01T00:00:00Z"`,
		`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"00000000-0000-0000-0000-000000000001"}]`)
	if update {
		add("version", "", `"resourceVersion":"{rv `+object+`}"`, `"resourceVersion":"{rv `+object+`}"`, `"resourceVersion":"{stale `+object+`}"`)
		add("uid", "", "", `"uid":"{uid `+object+`}"`, `"uid":"00000000-0000-0000-0000-000000000001"`)
	} else {
		add("version", "", "", "", "", `"resourceVersion":"1"`)
	}
	return fields
}

func drawObject(t *rapid.T, k kind, name string, update bool) string {
	meta := drawMeta(t, k, name, update)
	switch {
	case name == "gen-":
		meta = append(meta, `"generateName":"gen-"`)
	case name != "":
		meta = append(meta, fmt.Sprintf(`"name":%q`, name))
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, k.apiVersion, k.kind, strings.Join(meta, ","), fmt.Sprintf(k.contents, drawValue(t)))
}

func drawPatch(t *rapid.T, k kind, name string) string {
	meta := drawMeta(t, k, name, true)
	if one(t, "nulls", "", "", "labels") != "" {
		meta = []string{`"labels":null,"annotations":{"a":null,"b":{"deep":null}}`}
	}
	if one(t, "what", "both", "metadata") == "metadata" {
		return fmt.Sprintf(`{"metadata":{%s}}`, strings.Join(meta, ","))
	}
	return fmt.Sprintf(`{"metadata":{%s},%s}`, strings.Join(meta, ","), fmt.Sprintf(k.contents, drawValue(t)))
}

func drawJSONPatch(t *rapid.T, k kind, name string) string {
	object := k.resource + "/" + name
	return one(t, "operations",
		`[{"op":"add","path":"/metadata/labels","value":{"l":"x"}}]`,
		`[{"op":"replace","path":"/metadata/labels/l","value":"y"}]`,
		`[{"op":"remove","path":"/metadata/finalizers"}]`,
		`[{"op":"add","path":"/metadata/finalizers/-","value":"example.org/f"}]`,
		`[{"op":"test","path":"/metadata/resourceVersion","value":"{rv `+object+`}"},{"op":"add","path":"/metadata/annotations","value":{"a":"3"}}]`,
		`[{"op":"test","path":"/metadata/resourceVersion","value":"{stale `+object+`}"},{"op":"add","path":"/metadata/annotations","value":{"a":"3"}}]`,
		`[{"op":"add","path":"/metadata/annotations","value":{"null":null}}]`,
		`[]`, `{}`, `nonsense`,
	)
}

// drawStatus changes nothing but the status: more would change the managedFields, and by that
// the version, of an object that is otherwise the same.
func drawStatus(t *rapid.T, k kind, name string) step {
	object := k.resource + "/" + name
	version := one(t, "version", `"resourceVersion":"{rv `+object+`}"`, `"resourceVersion":"{rv `+object+`}"`, `"resourceVersion":"{stale `+object+`}"`, `"name":"`+name+`"`)
	s := step{Method: "PUT", Path: k.object(name) + "/status", Type: jsonType,
		Body: fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,%s},%s}`, k.apiVersion, k.kind, name, version, fmt.Sprintf(k.contents, drawValue(t)))}
	if one(t, "how", "put", "patch") == "patch" {
		s.Method, s.Type, s.Body = "PATCH", merge, fmt.Sprintf(`{"metadata":{%s},%s}`, version, fmt.Sprintf(k.contents, drawValue(t)))
	}
	return s
}

func drawScale(t *rapid.T, k kind, name string) step {
	object := k.resource + "/" + name
	// Those of no other request: the same value would change the managedFields, and nothing else.
	value := one(t, "replicas", "4", "5", "6")
	version := one(t, "version", `"resourceVersion":"{rv `+object+`}"`, `"resourceVersion":"{stale `+object+`}"`, `"name":"`+name+`"`)
	s := step{Method: "PUT", Path: k.object(name) + "/scale", Type: jsonType,
		Body: fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,%s},"spec":{"replicas":%s}}`, name, version, value)}
	switch one(t, "how", "get", "put", "patch") {
	case "get":
		return step{Method: "GET", Path: s.Path}
	case "patch":
		s.Method, s.Type, s.Body = "PATCH", merge, fmt.Sprintf(`{"spec":{"replicas":%s}}`, value)
	}
	return s
}

func drawDeletion(t *rapid.T, k kind, name string) string {
	object := k.resource + "/" + name
	head := `{"apiVersion":"v1","kind":"DeleteOptions"`
	return one(t, "deletion", "", "", head+"}",
		head+`,"preconditions":{"uid":"{uid `+object+`}"}}`,
		head+`,"preconditions":{"uid":"{uid `+object+`}","resourceVersion":"{rv `+object+`}"}}`,
		head+`,"preconditions":{"resourceVersion":"{stale `+object+`}"}}`,
		head+`,"preconditions":{"uid":"00000000-0000-0000-0000-000000000001"}}`,
		head+`,"propagationPolicy":"Foreground"}`, head+`,"propagationPolicy":"Background"}`, head+`,"propagationPolicy":"Orphan"}`,
		head+`,"propagationPolicy":"Sideways"}`, head+`,"gracePeriodSeconds":0}`, head+`,"dryRun":["All"]}`,
	)
}

func drawSelector(t *rapid.T) string {
	return one(t, "selector", "", "l%3Dx", "l%21%3Dx", "l+in+(x,y),m", "l", "!l")
}

func drawList(t *rapid.T, k kind) string {
	query := "?labelSelector=" + drawSelector(t)
	query += one(t, "fields", "", "", "&fieldSelector=metadata.name%3Da", "&fieldSelector=metadata.name%21%3Da", "&fieldSelector=spec.none%3Da")
	return query + one(t, "page", "", "", "&limit=1", "&limit=1", "&limit=1&continue={continue}", "&continue={continue}",
		"&resourceVersion={begin}&resourceVersionMatch=Exact", "&resourceVersion={begin}", "&resourceVersionMatch=Exact", "&sendInitialEvents=true", "&resourceVersion=nonsense", "&continue=nonsense")
}

func drawNamespace(t *rapid.T, k kind) step {
	path := "/api/v1/namespaces/{ns}"
	switch one(t, "namespace", "delete", "finalize", "get", "label", "missing", "put") {
	case "delete":
		return step{Method: "DELETE", Path: path}
	case "finalize":
		return step{Method: "PUT", Path: path + "/finalize", Type: jsonType, Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}"},"spec":{"finalizers":[]}}`}
	case "label":
		return step{Method: "PATCH", Path: path, Type: merge, Body: `{"metadata":{"labels":` + one(t, "labels", `{"l":"x"}`, `null`) + `,"finalizers":["example.org/f"]}}`}
	case "put":
		return step{Method: "PUT", Path: path, Type: jsonType, Body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}"}}`}
	case "missing":
		return step{Method: "POST", Path: k.root + "/namespaces/missing/" + k.resource, Type: jsonType, Body: drawObject(t, k, "a", false)}
	}
	return step{Method: "GET", Path: path}
}

// drawOdd draws a request that is wrong in itself.
func drawOdd(t *rapid.T, k kind, name string) step {
	object := drawObject(t, k, name, true)
	other := `{"apiVersion":"v9","kind":"Other"}`
	if k.custom { // it is refused later, with another message
		other = `{}`
	}
	return rapid.SampledFrom([]step{
		{"POST", k.object(name), jsonType, object, ""},
		{"PUT", k.collection(), jsonType, object, ""},
		{"PATCH", k.collection(), merge, `{}`, ""},
		{"PATCH", k.object(name), "application/nonsense", `{}`, ""},
		{"POST", k.collection(), "application/nonsense", object, ""},
		{"POST", k.collection(), jsonType, `nonsense`, ""},
		{"POST", k.collection(), jsonType, `{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"a"}}`, ""},
		{"POST", k.collection(), jsonType, strings.Replace(object, k.apiVersion, "pinned.example.org/v9", 1), ""},
		{"PATCH", k.object(name), merge, other, ""},
		{"PATCH", k.object(name), merge, `{"metadata":{"name":"other"}}`, ""},
		{"PATCH", k.object(name), merge, `[]`, ""},
		{"PUT", k.object("other"), jsonType, object, ""},
		{"GET", k.root + "/namespaces/{ns}/nonsense/a", "", "", ""},
		{"GET", k.object(name) + "/nonsense", "", "", ""},
		{"GET", "/apis/nonsense.example.org/v1", "", "", ""},
	}).Draw(t, "odd")
}

func drawWatch(t *rapid.T, k kind) string {
	path := k.collection() + "?watch=true&timeoutSeconds=30&labelSelector=" + one(t, "watched", "", "", "l%21%3Dx", "l+in+(y,end)")
	tooOld := "&resourceVersion=0"
	if k.custom { // since the definition is newer
		tooOld = "&resourceVersion=1"
	}
	return path + one(t, "from", "&resourceVersion={begin}", "&resourceVersion={begin}", "&resourceVersion=0", tooOld,
		"&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "&sendInitialEvents=true")
}

// sentinel creates the object that ends a watch.
func sentinel(path string) step {
	for _, k := range kinds {
		if path == k.collection() {
			return step{Method: "POST", Path: path, Type: jsonType,
				Body: fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"l":"end"}},%s}`, k.apiVersion, k.kind, end, fmt.Sprintf(k.contents, "1"))}
		}
	}
	panic("no kind has the path " + path)
}
