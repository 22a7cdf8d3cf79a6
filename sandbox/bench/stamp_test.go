package bench

import (
	"github.com/karmada-target/karmada-mirror/sandbox/written"

	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

func TestStamp(t *testing.T) {
	s := stamp{revision: written.Revision{Commit: "0123456789ab"}, cores: 2, disk: "ext4 on /dev/sda", repetitions: 3}
	clean := s.String()
	for _, want := range []string{"at revision 0123456789ab, with", "2 cores", "ext4 on /dev/sda", "3 runs"} {
		if !strings.Contains(clean, want) {
			t.Errorf("the stamp %q does not say %q", clean, want)
		}
	}
}

func TestMountOf(t *testing.T) {
	mounts := []*procfs.MountInfo{
		{MountPoint: "/", FSType: "ext4"}, {MountPoint: "/tmp", FSType: "ext4"}, {MountPoint: "/tmp", FSType: "tmpfs"}, {MountPoint: "/tmpfiles", FSType: "xfs"},
	}
	for dir, want := range map[string]string{"/home/me": "ext4", "/tmp/x": "tmpfs", "/tmp": "tmpfs", "/tmpfiles/x": "xfs"} {
		if got, ok := mountOf(dir, mounts); !ok || got.FSType != want {
			t.Errorf("%s is on %v, want %s", dir, got, want)
		}
	}
}
