package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// stamp is what the figures hold for.
type stamp struct {
	revision  string // of karmada-mirror
	isDirty   bool   // something was changed since
	date      time.Time
	versions  string // of Karmada and Kubernetes
	cores     int
	processor string
	disk      string
	// repetitions of each arm.
	repetitions int
}

func (s stamp) String() string {
	revision := s.revision
	if s.isDirty {
		revision += " with changes that are not committed"
	}
	return fmt.Sprintf("Measured on %s at revision %s, with %s, built with %s, on %d cores (%s) that everything shares, and etcd's data on %s; %d repetitions of each arm, unless it says otherwise.",
		s.date.UTC().Format(time.DateOnly), revision, s.versions, runtime.Version(), s.cores, s.processor, s.disk, s.repetitions)
}

// takeStamp reads them.
func (w *world) takeStamp(ctx context.Context) (stamp, error) {
	s := stamp{date: time.Now(), versions: w.versions, disk: w.disk, repetitions: w.repetitions}
	var err error
	if s.revision, err = git(ctx, w.repository, "rev-parse", "--short=12", "HEAD"); err != nil {
		return stamp{}, err
	}
	changes, err := git(ctx, w.repository, "status", "--porcelain")
	if err != nil {
		return stamp{}, err
	}
	s.isDirty = changes != ""
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return stamp{}, err
	}
	processors, err := proc.CPUInfo()
	if err != nil {
		return stamp{}, err
	}
	s.cores, s.processor = len(processors), processors[0].ModelName
	return s, nil
}

func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask git for %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// describeDisk names the file system of a folder.
func describeDisk(dir string) (string, error) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return "", err
	}
	mount, ok := mountOf(dir, mounts)
	if !ok {
		return "", fmt.Errorf("cannot find the file system of %q", dir)
	}
	return fmt.Sprintf("%s on %s", mount.FSType, mount.Source), nil
}

// mountOf is where a folder lies: of what is mounted above it, the nearest, and of
// several in one place, the last.
func mountOf(dir string, mounts []*procfs.MountInfo) (nearest *procfs.MountInfo, ok bool) {
	for _, m := range mounts {
		relative, err := filepath.Rel(m.MountPoint, dir)
		isAbove := err == nil && filepath.IsLocal(relative)
		if isAbove && (nearest == nil || len(m.MountPoint) >= len(nearest.MountPoint)) {
			nearest = m
		}
	}
	return nearest, nearest != nil
}
