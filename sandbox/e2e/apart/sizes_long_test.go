//go:build long

package apart

// byHelm says whether TestInstall also installs with Helm.
const byHelm = true
