//go:build !long

package apart

const (
	byHelm     = false // TestInstall also installs with Helm
	crashEvery = 3     // TestCrash kills the daemon at one write in so many
)
