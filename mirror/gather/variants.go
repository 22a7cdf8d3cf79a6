package gather

import (
	"sync"

	"github.com/karmada-target/karmada-mirror/render"
)

// variants remembers what Edits make of the manifests of sources, so that a source that is looked
// at again is not encoded again for each of its clusters. An entry may be missing, and then the
// manifest is edited. It is never wrong: it belongs to exactly one manifest, and its key says
// everything that the result depends on.
type variants struct {
	mu sync.Mutex
	of map[render.Identity]*variantsOf
}

// variantsOf are the variants of one manifest.
type variantsOf struct {
	manifest *render.Manifest
	known    map[render.EditKey]render.Variant
	// scale is how large the source is, read at paths; nil if no one has asked.
	scale *render.Scale
	paths string
}

// maxVariants is how many variants of one manifest are kept: those of the past are among them.
const maxVariants = 1024

// get returns the Variant of a manifest.
func (v *variants) get(m *render.Manifest, e render.Edit) (render.Variant, error) {
	key := e.Key(m)
	if key == (render.EditKey{}) { // nothing is edited
		return m.Variant(e)
	}
	if known, ok := v.recall(m, key); ok {
		return known, nil
	}
	made, err := m.Variant(e)
	if err == nil {
		v.note(m, key, made)
	}
	return made, err
}

func (v *variants) recall(m *render.Manifest, key render.EditKey) (known render.Variant, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of := v.of[m.Source()]; of != nil && of.manifest == m {
		known, ok = of.known[key]
	}
	return known, ok
}

func (v *variants) note(m *render.Manifest, key render.EditKey, made render.Variant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[render.Identity]*variantsOf{}
	}
	of := v.entryLocked(m)
	if len(of.known) >= maxVariants {
		clear(of.known)
	}
	of.known[key] = made
}

// entryLocked returns the entry of a manifest, and makes it if there is none.
func (v *variants) entryLocked(m *render.Manifest) *variantsOf {
	of := v.of[m.Source()]
	if of == nil || of.manifest != m {
		of = &variantsOf{manifest: m, known: map[render.EditKey]render.Variant{}}
		v.of[m.Source()] = of
	}
	return of
}

// scale returns how large a source is.
func (v *variants) scale(m *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[render.Identity]*variantsOf{}
	}
	of := v.entryLocked(m)
	if of.scale != nil && of.paths == p.String() {
		return *of.scale, nil
	}
	scale, err := m.Scale(p)
	if err == nil {
		of.scale, of.paths = &scale, p.String()
	}
	return scale, err
}

// prune drops the variants of manifests that are no longer current.
func (v *variants) prune(isCurrent func(*render.Manifest) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := map[render.Identity]*variantsOf{}
	for id, of := range v.of {
		if isCurrent(of.manifest) {
			kept[id] = of
		}
	}
	v.of = kept
}
