//go:build long

package apart

const byHelm, crashEvery = true, 1
