package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// unpack replaces a folder with the content of an archive. It fills the folder
// under another name, so that a folder that exists is complete.
func unpack(archive, folder string) (err error) {
	source, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	defer source.Close()
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	filling, err := os.MkdirTemp(filepath.Dir(folder), filepath.Base(folder)+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(filling)) }()
	content := filepath.Join(filling, "db")
	if err := os.CopyFS(content, source); err != nil {
		return fmt.Errorf("cannot unpack %q: %w", archive, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(content, folder)
}
