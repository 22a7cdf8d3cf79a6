//go:build !long

package apart

const (
	// byHelm says whether TestInstall also installs with Helm.
	byHelm = false
	// crashEvery is the share of its writes at which TestCrash kills the daemon: one in so many.
	crashEvery = 3
)
