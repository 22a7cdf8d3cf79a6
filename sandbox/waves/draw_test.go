package waves

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBars(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	s := story{
		clusters: []string{"canary-1", "east-1"},
		edits:    []edit{{"a new image", at(0)}, {"a bad image", at(20)}, {"the revert", at(40)}},
		end:      at(50),
		writes: []write{
			{"canary-1", "good", at(1), at(3)},
			{"east-1", "good", at(8), at(17)},
			{"canary-1", "bad", at(20), time.Time{}},
			{"canary-1", "good", at(41), at(47)},
		},
	}
	want := []bar{
		{0, rolling, 1, 3}, {0, baking, 3, 8},
		{1, rolling, 8, 17}, {1, baking, 17, 22},
		{0, failing, 20, 41},
		{0, rolling, 41, 47}, {0, baking, 47, 50}, // the picture ends
	}
	if diff := cmp.Diff(want, s.bars(), cmp.AllowUnexported(bar{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p, err := s.plot()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "picture.svg")
	if err := p.Save(width, height, file); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"canary-1", "a bad image", string(failing)} {
		if !bytes.Contains(picture, []byte(text)) {
			t.Errorf("the picture does not say %q", text)
		}
	}
}
