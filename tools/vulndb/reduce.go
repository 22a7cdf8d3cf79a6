package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// The files of a database. Each entry is in ID/, under its ID.
const (
	databaseFile = "index/db.json"
	modulesFile  = "index/modules.json"
	vulnsFile    = "index/vulns.json"
)

// database is index/db.json.
type database struct {
	Modified time.Time `json:"modified"`
}

// module is an element of index/modules.json.
type module struct {
	Path  string `json:"path"`
	Vulns []struct {
		ID       string    `json:"id"`
		Modified time.Time `json:"modified"`
		Fixed    string    `json:"fixed,omitempty"`
	} `json:"vulns"`
}

// vuln is an element of index/vulns.json.
type vuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

func reduceFile(whole, archive string, paths []string) error {
	source, err := zip.OpenReader(whole)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	defer source.Close()
	reduced, err := reduce(source, paths)
	if err != nil {
		return fmt.Errorf("cannot reduce %q: %w", whole, err)
	}
	return os.WriteFile(archive, reduced, 0o644)
}

// reduce makes an archive of the entries for the modules, the standard library and
// the go command. The same database and modules make the same bytes.
func reduce(whole fs.FS, paths []string) ([]byte, error) {
	if len(paths) == 0 {
		return nil, errors.New("no modules on standard input")
	}
	var (
		db      database
		modules []module
		vulns   []vuln
	)
	for name, into := range map[string]any{databaseFile: &db, modulesFile: &modules, vulnsFile: &vulns} {
		if err := decode(whole, name, into); err != nil {
			return nil, err
		}
	}
	if db.Modified.IsZero() {
		return nil, fmt.Errorf("%s has no date", databaseFile)
	}
	modules = slices.DeleteFunc(modules, func(m module) bool {
		return m.Path != "stdlib" && m.Path != "toolchain" && !slices.Contains(paths, m.Path)
	})
	wanted := map[string]bool{}
	for _, m := range modules {
		for _, v := range m.Vulns {
			wanted[v.ID] = true
		}
	}
	vulns = slices.DeleteFunc(vulns, func(v vuln) bool { return !wanted[v.ID] })

	files := map[string][]byte{}
	for name, content := range map[string]any{databaseFile: db, modulesFile: modules, vulnsFile: vulns} {
		encoded, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		files[name] = encoded
	}
	for id := range wanted {
		name := "ID/" + id + ".json"
		content, err := fs.ReadFile(whole, name)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return pack(files, db.Modified)
}

func decode(database fs.FS, name string, into any) error {
	content, err := fs.ReadFile(database, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("cannot decode %s: %w", name, err)
	}
	return nil
}

// pack makes an archive that does not depend on when or in which order it was made.
func pack(files map[string][]byte, modified time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified.UTC()})
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
