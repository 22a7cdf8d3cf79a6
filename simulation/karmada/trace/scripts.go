package trace

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Scripts are what a real Karmada was recorded with.
var Scripts = []Script{
	{"apply", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}, "metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}}}`, `{}`), isApplied},
		{"edit", manifest(`{"data": {"k": "2"}}`), nil},
		{"remove keys", manifest(`{"metadata": {"labels": {"l": null}, "annotations": {"a": null}}}`), nil},
		{"drop what the webhook has set", editWork(`{"metadata": {"labels": null}}`), nil},
		{"delete", remove, nil},
	}},
	{"conflict", "ConfigMap", []Step{
		{"exists", inMember(`{"data": {"k": "theirs"}, "metadata": {"labels": {"theirs": "1"}}}`), nil},
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isNotApplied},
		{"overwrite", manifest(`{"metadata": {"annotations": {"work.karmada.io/conflict-resolution": "overwrite"}}}`), isApplied},
		{"delete", remove, nil},
	}},
	{"conflict-left", "ConfigMap", []Step{
		{"exists", inMember(`{"data": {"k": "theirs"}}`), nil},
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isNotApplied},
		{"delete", remove, nil},
	}},
	{"drift", "Deployment", []Step{
		{"apply", apply(deployment, `{}`), isApplied},
		{"scale in the member", change(`{"spec": {"replicas": 5}}`), nil},
		{"label in the member", change(`{"metadata": {"labels": {"theirs": "1", "karmada.io/managed": "true"}}}`), nil},
		{"annotate in the member", change(`{"metadata": {"annotations": {"theirs": "1", "work.karmada.io/conflict-resolution": "x"}}}`), nil},
		{"edit", manifest(`{"spec": {"replicas": 2}}`), nil},
		{"retain", manifest(`{"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}}`), nil},
		{"scale in the member again", change(`{"spec": {"replicas": 7}}`), nil},
		{"edit again", manifest(`{"spec": {"replicas": 3}, "metadata": {"labels": {"l": "1"}}}`), nil},
		{"delete", remove, nil},
	}},
	{"drift-configmap", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isApplied},
		{"edit in the member", change(`{"data": {"k": "theirs", "more": "1"}, "metadata": {"annotations": {"theirs": "1"}}}`), nil},
		{"disown in the member", change(`{"data": {"k": "theirs"}, "metadata": {"labels": {"karmada.io/managed": null}}}`), nil},
		{"edit", manifest(`{"data": {"k": "2"}}`), isNotApplied},
		{"delete", remove, nil},
	}},
	{"recreate", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isApplied},
		{"delete in the member", removeInMember, func(s State) bool { return s.Member != nil }},
		{"edit", manifest(`{"data": {"k": "2"}}`), nil},
		{"delete", remove, nil},
	}},
	{"preserve", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}, "metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}}}`, `{"preserveResourcesOnDeletion": true}`), isApplied},
		{"delete", remove, nil},
		{"apply again", apply(`{"data": {"k": "2"}}`, `{}`), isNotApplied},
	}},
	{"preserve-missing", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}}`, `{"preserveResourcesOnDeletion": true}`), isApplied},
		{"suspend", editWork(`{"spec": {"suspendDispatching": true}}`), nil},
		{"delete in the member", removeInMember, nil},
		{"delete", remove, nil},
	}},
	{"suspend", "ConfigMap", []Step{
		{"apply suspended", apply(`{"data": {"k": "1"}}`, `{"suspendDispatching": true}`), nil},
		{"resume", editWork(`{"spec": {"suspendDispatching": false}}`), isApplied},
		{"suspend again", editWork(`{"spec": {"suspendDispatching": true}}`), nil},
		{"edit", manifest(`{"data": {"k": "2"}}`), nil},
		{"edit in the member", change(`{"data": {"k": "theirs"}}`), nil},
		{"delete", remove, nil},
	}},
	{"misnamed", "ConfigMap", []Step{
		{"apply by another name", func(p *Player) error {
			p.workName = "other-name"
			return apply(`{"data": {"k": "1"}}`, `{}`)(p)
		}, isApplied},
		{"edit in the member", change(`{"data": {"k": "theirs"}}`), nil},
		{"delete in the member", removeInMember, nil},
		{"edit", manifest(`{"data": {"k": "2"}}`), nil},
		{"delete in the member again", removeInMember, nil},
		{"delete", remove, nil},
	}},
	{"takeover", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isApplied},
		{"claim", func(p *Player) error { return p.Claim(p.gvr, p.object(parse(`{"data": {"k": "theirs"}}`))) }, func(s State) bool { return fmt.Sprint(s.Member["data"]) == "map[k:theirs]" }},
		{"release", func(p *Player) error { return p.Release(p.gvr, p.object(parse(`{"data": {"k": "theirs"}}`))) }, func(s State) bool { return s.Work == nil }},
	}},
	// The last one, for informers in the member take a while to recover.
	{"away", "ConfigMap", []Step{
		{"apply", apply(`{"data": {"k": "1"}}`, `{}`), isApplied},
		{"go away", away(true), nil},
		{"edit", manifest(`{"data": {"k": "2"}}`), nil},
		{"come back", away(false), func(s State) bool { return fmt.Sprint(s.Member["data"]) == "map[k:2]" }},
		{"go away again", away(true), nil},
		{"delete", remove, nil},
		{"come back again", away(false), func(s State) bool { return s.Work == nil }},
	}},
}

const deployment = `{"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`

func condition(s State) string { text, _ := s.Work["condition Applied"].(string); return text }

func isApplied(s State) bool {
	return len(condition(s)) > 4 && condition(s)[:4] == "True" && s.Member != nil
}
func isNotApplied(s State) bool { return len(condition(s)) > 5 && condition(s)[:5] == "False" }

// apply creates a Work as the daemon does, from parts of its manifest and spec.
func apply(part, spec string) func(*Player) error {
	return func(p *Player) error {
		u := p.object(parse(part))
		for field, values := range map[string]Object{
			"labels": {"karmada.io/managed": "true"},
			"annotations": {
				"work.karmada.io/namespace": "karmada-es-" + p.Cluster, "work.karmada.io/name": p.workName,
				"resourcetemplate.karmada.io/uid": p.sourceID, "resourcetemplate.karmada.io/generation": "7",
			},
		} {
			for key, value := range values {
				_ = unstructured.SetNestedField(u.Object, value, "metadata", field, key) // it is a map, or missing
			}
		}
		work := &unstructured.Unstructured{Object: Object{
			"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": parse(spec),
			"metadata": Object{"name": p.workName, "finalizers": []any{"karmada.io/execution-controller"}},
		}}
		_ = unstructured.SetNestedSlice(work.Object, []any{u.Object}, "spec", "workload", "manifests")
		_, err := p.works().Create(p.Ctx, work, metav1.CreateOptions{})
		return err
	}
}

// object makes a part the object that the script is about.
func (p *Player) object(part Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: part}
	u.SetAPIVersion(p.gvr.GroupVersion().String())
	u.SetKind(p.kind)
	u.SetNamespace(Namespace)
	u.SetName(p.name)
	return u
}

func parse(text string) (o Object) {
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err) // it is in this file
	}
	return o
}

func editWork(patch string) func(*Player) error {
	return func(p *Player) error {
		_, err := p.works().Patch(p.Ctx, p.workName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// manifest merges something into the manifest of the Work.
func manifest(patch string) func(*Player) error {
	return func(p *Player) error {
		work, err := p.works().Get(p.Ctx, p.workName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
		mergePatch(manifests[0].(Object), parse(patch))
		_ = unstructured.SetNestedSlice(work.Object, manifests, "spec", "workload", "manifests")
		_, err = p.works().Update(p.Ctx, work, metav1.UpdateOptions{})
		return err
	}
}

// mergePatch is RFC 7396.
func mergePatch(o, patch Object) {
	for key, value := range patch {
		inner, isObject := value.(Object)
		target, has := o[key].(Object)
		switch {
		case value == nil:
			delete(o, key)
		case isObject && has:
			mergePatch(target, inner)
		default:
			o[key] = runtime.DeepCopyJSONValue(value)
		}
	}
}

func remove(p *Player) error { return p.works().Delete(p.Ctx, p.workName, metav1.DeleteOptions{}) }

func removeInMember(p *Player) error {
	return p.inMember().Delete(p.Ctx, p.name, metav1.DeleteOptions{})
}

// inMember creates the object in the member, as another owner's.
func inMember(part string) func(*Player) error {
	return func(p *Player) error {
		_, err := p.inMember().Create(p.Ctx, p.object(parse(part)), metav1.CreateOptions{})
		return err
	}
}

// change changes the object in the member.
func change(patch string) func(*Player) error {
	return func(p *Player) error {
		_, err := p.inMember().Patch(p.Ctx, p.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

func away(isAway bool) func(*Player) error {
	return func(p *Player) error {
		p.isAway = isAway
		return p.Away(isAway)
	}
}
