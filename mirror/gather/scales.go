package gather

import (
	"sync"

	"github.com/karmada-target/karmada-mirror/render"
)

// scales remember how large sources are whose replicas are divided, so that a source that is looked
// at again is not decoded again. An entry may be missing, and then the manifest is decoded. It is
// never wrong: it belongs to exactly one manifest.
type scales struct {
	mu sync.Mutex
	of map[render.Identity]scaleEntry
}

type scaleEntry struct {
	manifest *render.Manifest
	paths    string
	scale    render.Scale
}

// read returns how large a source is.
func (s *scales) read(m *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	s.mu.Lock()
	known, ok := s.of[m.Source()]
	s.mu.Unlock()
	if ok && known.manifest == m && known.paths == p.String() {
		return known.scale, nil
	}
	scale, err := m.Scale(p)
	if err != nil {
		return scale, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[render.Identity]scaleEntry{}
	}
	s.of[m.Source()] = scaleEntry{m, p.String(), scale}
	return scale, nil
}

// prune drops the entries of manifests that are no longer current.
func (s *scales) prune(isCurrent func(*render.Manifest) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := map[render.Identity]scaleEntry{}
	for id, of := range s.of {
		if isCurrent(of.manifest) {
			kept[id] = of
		}
	}
	s.of = kept
}
