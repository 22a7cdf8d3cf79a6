package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var modified = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// whole is a database of three entries: one for a module, one for the standard
// library, one for a module that no one uses.
func whole() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		databaseFile: `{"modified":"2026-03-01T12:00:00Z"}`,
		modulesFile: `[{"path":"example.com/a","vulns":[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","fixed":"1.2.0"}]},
			{"path":"example.com/b","vulns":[{"id":"GO-2","modified":"2026-01-02T00:00:00Z"}]},
			{"path":"stdlib","vulns":[{"id":"GO-3","modified":"2026-01-03T00:00:00Z"}]}]`,
		vulnsFile: `[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","aliases":["CVE-1"]},
			{"id":"GO-2","modified":"2026-01-02T00:00:00Z"},{"id":"GO-3","modified":"2026-01-03T00:00:00Z"}]`,
		"ID/GO-1.json": `{"id":"GO-1"}`,
		"ID/GO-2.json": `{"id":"GO-2"}`,
		"ID/GO-3.json": `{"id":"GO-3"}`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func reduced(t *testing.T, modules ...string) []byte {
	t.Helper()
	archive, err := reduce(whole(), modules)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func TestReduce(t *testing.T) {
	archive := reduced(t, "example.com/a", "example.com/c")
	if !bytes.Equal(archive, reduced(t, "example.com/c", "example.com/a")) {
		t.Error("the same database makes different archives")
	}
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files.File {
		names = append(names, file.Name)
		if !file.Modified.Equal(modified) {
			t.Errorf("%s is dated %s, want the date of the database", file.Name, file.Modified)
		}
	}
	if want := []string{"ID/GO-1.json", "ID/GO-3.json", databaseFile, modulesFile, vulnsFile}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	for name, want := range map[string]string{
		"ID/GO-1.json": `{"id":"GO-1"}`,
		databaseFile:   `{"modified":"2026-03-01T12:00:00Z"}`,
		modulesFile: `[{"path":"example.com/a","vulns":[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","fixed":"1.2.0"}]},` +
			`{"path":"stdlib","vulns":[{"id":"GO-3","modified":"2026-01-03T00:00:00Z"}]}]`,
		vulnsFile: `[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","aliases":["CVE-1"]},{"id":"GO-3","modified":"2026-01-03T00:00:00Z"}]`,
	} {
		if got, err := fs.ReadFile(files, name); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestReduceWantsAll(t *testing.T) {
	for _, name := range []string{databaseFile, modulesFile, vulnsFile, "ID/GO-1.json"} {
		files := whole()
		delete(files, name)
		if _, err := reduce(files, []string{"example.com/a"}); err == nil {
			t.Errorf("a database without %s is accepted", name)
		}
	}
}

func TestReduceWantsModules(t *testing.T) {
	if _, err := reduce(whole(), nil); err == nil {
		t.Error("without modules it makes an archive of the standard library alone")
	}
}

func TestUnpackReplaces(t *testing.T) {
	dir := t.TempDir()
	archive, folder := filepath.Join(dir, "db.zip"), filepath.Join(dir, "cache", "db")
	for _, modules := range [][]string{{"example.com/b"}, {"example.com/a"}} {
		if err := os.WriteFile(archive, reduced(t, modules...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"unpack", archive, folder}, nil, nil, modified); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := filepath.Glob(filepath.Join(dir, "cache", "*", "ID", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(folder, "ID", "GO-1.json"), filepath.Join(folder, "ID", "GO-3.json")}; !slices.Equal(entries, want) {
		t.Errorf("got %q, want the second archive alone: %q", entries, want)
	}
}

func TestAge(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, whole()); err != nil {
		t.Fatal(err)
	}
	local := (&url.URL{Scheme: "file", Path: folder}).String()
	for name, test := range map[string]struct {
		reason  string
		address string
		now     time.Time
		old     bool
	}{
		"young":   {"it was made on the same day", local, modified, false},
		"limit":   {"the sixtieth day is the last", local, modified.AddDate(0, 0, 60), false},
		"old":     {"one day more is too old", local, modified.AddDate(0, 0, 61), true},
		"network": {"vuln.go.dev has the newest", "https://vuln.go.dev", modified.AddDate(1, 0, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			err := run([]string{"age", test.address, "60"}, nil, &bytes.Buffer{}, test.now)
			if test.old != (err != nil) {
				t.Fatalf("%s: got %v", test.reason, err)
			}
			if !test.old {
				return
			}
			for _, want := range []string{"is from 2026-03-01, 61 days old", "\n  make vulndb\n", "\n  make check VULNDB=https://vuln.go.dev"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

// TestAgeWantsADate checks that a database without a date does not count as young.
func TestAgeWantsADate(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, fstest.MapFS{databaseFile: {Data: []byte(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "missing")} {
		if err := run([]string{"age", "file://" + path, "60"}, nil, &bytes.Buffer{}, modified); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}
