package memory

import (
	"weak"

	"github.com/karmada-target/karmada-mirror/render"
)

// size is how large a source is whose replicas are divided, so that one that is looked at again is not decoded again. It belongs
// to exactly one manifest.
type size struct {
	of    weak.Pointer[render.Manifest]
	paths string
	scale render.Scale
}

// Scale returns how large a source is.
func (m *Memory) Scale(of *render.Manifest, p render.ScalePaths) (render.Scale, error) {
	if known := m.source(of.Source()).size; known != nil && known.of.Value() == of && known.paths == p.String() {
		return known.scale, nil
	}
	scale, err := of.Scale(p)
	if err == nil {
		m.changeSource(of.Source(), func(s *source) { s.size = &size{weak.Make(of), p.String(), scale} })
	}
	return scale, err
}
