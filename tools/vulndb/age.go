package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"time"
)

// age prints how old the database at a URL is, and fails if it is too old. A database
// that is not a folder is on the network, and counts as the newest.
func age(address string, days int, now time.Time, out io.Writer) error {
	location, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("cannot read the address of the database: %w", err)
	}
	if location.Scheme != "file" {
		return nil
	}
	var db database
	if err := decode(os.DirFS(location.Path), databaseFile, &db); err != nil {
		return fmt.Errorf("cannot read the database's date: %w", err)
	}
	old := int(now.Sub(db.Modified).Hours() / 24)
	fmt.Fprintf(out, "the vulnerability database is from %s, %d days old\n", db.Modified.Format(time.DateOnly), old)
	if old <= days {
		return nil
	}
	return fmt.Errorf(`the vulnerability database is from %s, %d days old, but at most %d days are allowed. Update it:

  make vulndb
  git add tools/vulndb/db.zip
  git commit -m "tools: the vulnerabilities known today"

or use the newest this once:

  make check VULNDB=https://vuln.go.dev`, db.Modified.Format(time.DateOnly), old, days)
}
