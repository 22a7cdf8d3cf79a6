package render

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	// MaxWaves is how many waves one annotation may have.
	MaxWaves = 64
	// DefaultWaveDeadline is after how long a wave that has not come through is reported.
	DefaultWaveDeadline = 10 * time.Minute
	// maxWaveTime is the longest bake and deadline.
	maxWaveTime = 30 * 24 * time.Hour
)

// Waves are the order in which a change of a source reaches its clusters. The zero value is none:
// it reaches all at once.
type Waves struct {
	list []Wave
	// Bake is for how long a wave must have been healthy before the next begins, and Deadline after
	// how long one that has not come through is reported.
	Bake, Deadline time.Duration
}

// Wave is one of Waves.
type Wave struct {
	// Text is the wave as the user has written it, without spaces around it.
	Text  string
	terms Terms
	// atOnce is how many clusters may be under way at once, or, if isPercent, how many of a hundred;
	// 0 for all.
	atOnce    int
	isPercent bool
}

// rest is the wave of the clusters that are in no other.
var rest = Wave{Text: "the other clusters"}

// waveLimit matches what is behind the terms of a wave.
var waveLimit = regexp.MustCompile(`^([^()]*)\(\s*([0-9]{1,9})\s*(%?)\s*\)$`)

// parseWaves parses waves that are separated by semicolons, of which one may trail: each is a list
// of terms as in ClustersAnnotation, and behind it, in parentheses, may be how many clusters at once,
// as a number or in percent.
func parseWaves(value string) ([]Wave, error) {
	if strings.TrimSpace(value) == "" {
		return nil, errors.New(`it names no wave; write "*" for all clusters at once, or remove the annotation`)
	}
	texts := strings.Split(value, ";")
	if last := len(texts) - 1; last > 0 && strings.TrimSpace(texts[last]) == "" {
		texts = texts[:last]
	}
	if len(texts) > MaxWaves {
		return nil, fmt.Errorf("it has %d waves, more than %d", len(texts), MaxWaves)
	}
	var waves []Wave
	for i, text := range texts {
		wave, err := parseWave(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("wave %d: %w", i+1, err)
		}
		waves = append(waves, wave)
	}
	return waves, nil
}

func parseWave(text string) (w Wave, err error) {
	w.Text = text
	if text == "" {
		return w, errors.New("it is empty; remove a semicolon")
	}
	terms := text
	if strings.ContainsAny(text, "()") {
		parts := waveLimit.FindStringSubmatch(text)
		if parts == nil {
			return w, fmt.Errorf("%s: how many clusters at once stands behind the terms, as (5) or (20%%)", quote(text))
		}
		terms, w.isPercent = parts[1], parts[3] == "%"
		w.atOnce, _ = strconv.Atoi(parts[2]) // at most nine digits
		if w.atOnce == 0 || w.isPercent && w.atOnce > 100 {
			return w, fmt.Errorf("%s: at once must be at least one cluster, and at most 100%%", quote(text))
		}
	}
	if w.terms, err = ParseTerms(terms); err == nil {
		if l := w.terms.get(); contains(l.globs, "*") && len(l.names)+len(l.globs) > 1 {
			return w, fmt.Errorf("%s: * stands for all of them already; a semicolon begins the next wave", quote(text))
		}
	}
	return w, err
}

// IsEmpty reports whether there are no waves.
func (w Waves) IsEmpty() bool { return len(w.list) == 0 }

// Len is the number of waves, with that of the clusters that are in none of those written.
func (w Waves) Len() int { return len(w.list) + 1 }

// At returns a wave.
func (w Waves) At(i int) Wave {
	if i < len(w.list) {
		return w.list[i]
	}
	return rest
}

// names returns the clusters that waves name, sorted in each wave.
func (w Waves) names() (names []string) {
	for _, wave := range w.list {
		names = append(names, wave.terms.Names()...)
	}
	return names
}

// Of returns the index of the wave of a cluster with these labels: the first that matches, or the
// last one, for the clusters that are in none.
func (w Waves) Of(cluster string, of labels.Set) int {
	for i, wave := range w.list {
		if wave.terms.Matches(cluster, of) {
			return i
		}
	}
	return len(w.list)
}

// AtOnce returns how many clusters may be under way at once in a wave of so many.
func (w Wave) AtOnce(clusters int) int {
	switch {
	case w.atOnce == 0:
		return clusters
	case w.isPercent:
		return (clusters*w.atOnce + 99) / 100
	}
	return w.atOnce
}

// Waves parses the waves and their times. The error names the annotation. Times without waves have no
// effect.
func (w Wishes) Waves() (waves Waves, err error) {
	if waves.Bake, err = w.bake.duration(WaveBakeAnnotation, 0, 0); err != nil {
		return Waves{}, err
	}
	if waves.Deadline, err = w.deadline.duration(WaveDeadlineAnnotation, DefaultWaveDeadline, time.Second); err != nil {
		return Waves{}, err
	}
	if !w.waves.given {
		return Waves{}, nil
	}
	if waves.list, err = parseWaves(w.waves.value); err != nil {
		return Waves{}, w.waves.blame(WavesAnnotation, err)
	}
	return waves, nil
}

// WaveTimes returns the annotations with the times of waves that are given.
func (w Wishes) WaveTimes() (keys []string) {
	for _, a := range []annotation{{WaveBakeAnnotation, &w.bake}, {WaveDeadlineAnnotation, &w.deadline}} {
		if a.given {
			keys = append(keys, a.key)
		}
	}
	return keys
}

// duration parses a wish that is a time of at least least.
func (w wish) duration(key string, otherwise, least time.Duration) (time.Duration, error) {
	if !w.given {
		return otherwise, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(w.value))
	switch {
	case err != nil:
		return 0, w.blame(key, fmt.Errorf("%s is not a time such as 90s, 10m or 1h", quote(w.value)))
	case d < least || d > maxWaveTime:
		return 0, w.blame(key, fmt.Errorf("%s is not between %s and %s", quote(w.value), least, maxWaveTime))
	}
	return d, nil
}
