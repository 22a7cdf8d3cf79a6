package render

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

func wavesOf(t *testing.T, annotations map[string]string) Waves {
	t.Helper()
	waves, err := ReadWishes(annotations).Waves()
	if err != nil {
		t.Fatal(err)
	}
	return waves
}

func TestWaves(t *testing.T) {
	w := wavesOf(t, map[string]string{WavesAnnotation: " canary-* ; prod-eu-*,!prod-eu-1 ( 5 ); prod-*(20%);", WaveBakeAnnotation: "90s"})
	if w.IsEmpty() || w.Len() != 4 || w.Bake != 90*time.Second || w.Deadline != 10*time.Minute {
		t.Errorf("%+v", w)
	}
	for cluster, want := range map[string]int{"canary-1": 0, "prod-eu-2": 1, "prod-eu-1": 2, "prod-us-1": 2, "edge": 3} {
		if got := w.Of(cluster, labels.Set{}); got != want {
			t.Errorf("%s is in wave %d, not %d", cluster, got, want)
		}
	}
	for i, want := range []int{7, 5, 2, 7} { // 20 % of 7, rounded up
		if got := w.At(i).AtOnce(7); got != want {
			t.Errorf("wave %q: %d at once, not %d", w.At(i).Text, got, want)
		}
	}
	if got := w.At(2).AtOnce(1); got != 1 {
		t.Errorf("20 %% of one cluster are %d", got)
	}
	if w := wavesOf(t, map[string]string{WaveBakeAnnotation: "90s"}); !w.IsEmpty() || w.Of("any", nil) != 0 {
		t.Errorf("a bake alone makes waves: %+v", w)
	}
}

func TestWavesThatCannotBeRead(t *testing.T) {
	for value, want := range map[string]string{
		"":                               "it names no wave",
		"a;;b":                           "wave 2: it is empty",
		";a":                             "wave 1: it is empty",
		"!a":                             "only exclusions",
		"a()":                            "stands behind the terms",
		"a(1),b":                         "stands behind the terms",
		"a(1)(2)":                        "stands behind the terms",
		"(3)":                            "names no cluster",
		"a(0)":                           "at least one cluster",
		"canary, *":                      "a semicolon begins the next wave",
		"a;*,b*,!c (5)":                  "wave 2: \"*,b*,!c (5)\": * stands for all",
		"a(101%)":                        "at most 100%",
		"a(-1)":                          "stands behind the terms",
		"a(1.5)":                         "stands behind the terms",
		"a(1234567890)":                  "stands behind the terms",
		"A":                              "not a valid cluster name",
		strings.Repeat("a;", MaxWaves+1): "more than 64",
	} {
		_, err := ReadWishes(map[string]string{WavesAnnotation: value}).Waves()
		if err == nil || !strings.Contains(err.Error(), WavesAnnotation) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
	for _, key := range []string{WaveBakeAnnotation, WaveDeadlineAnnotation} {
		for _, value := range []string{"", "5", "-1s", "1d", "721h", "never"} {
			if err := ReadWishes(map[string]string{key: value}).Check(); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("%s %q: %v", key, value, err)
			}
		}
	}
	if err := ReadWishes(map[string]string{WaveDeadlineAnnotation: "0s"}).Check(); err == nil {
		t.Error("a deadline of nothing is accepted")
	}
}

func TestWavesAreInherited(t *testing.T) {
	defaults := ReadWishes(map[string]string{ClustersAnnotation: "*", WavesAnnotation: "a;b", WaveBakeAnnotation: "1m"})
	own := ReadWishes(map[string]string{WavesAnnotation: "c"}).Over(defaults)
	if w, err := own.Waves(); err != nil || w.Len() != 2 || w.Bake != time.Minute || w.At(0).Text != "c" {
		t.Errorf("%+v, %v", w, err)
	}
	if err := ReadWishes(nil).Over(ReadWishes(map[string]string{ClustersAnnotation: "*", WavesAnnotation: "A"})).Check(); err == nil || !strings.HasPrefix(err.Error(), "the Namespace's") {
		t.Errorf("%v", err)
	}
}
