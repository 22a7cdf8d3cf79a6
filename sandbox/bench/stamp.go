package bench

import (
	"github.com/karmada-target/karmada-mirror/sandbox/written"

	"context"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/prometheus/procfs"
)

// stamp says what the figures hold for.
type stamp struct {
	revision  written.Revision // of karmada-mirror
	versions  string           // of Karmada and Kubernetes
	cores     int
	processor string
	disk      string
	// repetitions of each arm.
	repetitions int
}

func (s stamp) String() string {
	return fmt.Sprintf("Measured %s, with %s, built with %s, on %d cores (%s) shared by all processes, and etcd's data on %s. "+
		"A figure is the median of %d runs, with the lowest and the highest in parentheses; without parentheses, it was measured once or was always the same.",
		s.revision, s.versions, runtime.Version(), s.cores, s.processor, s.disk, s.repetitions)
}

// takeStamp finds out what the figures will hold for.
func (w *world) takeStamp(ctx context.Context) (stamp, error) {
	s := stamp{versions: w.versions, disk: w.disk, repetitions: w.repetitions}
	var err error
	if s.revision, err = written.Now(ctx, w.repository); err != nil {
		return stamp{}, err
	}
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

// describeDisk names the file system that holds a folder.
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

// mountOf returns the mount that holds a folder: the nearest one above it, and the last if
// several share that mount point.
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
