//go:build long

package shared

// How much is tried in `make test-long`.
const (
	massRecreated       = 1000
	configurationCycles = 200
	refusedAtOnce       = 1200 // objects with one mistake; client-go's recorder keeps 1,000 Events
	crashEvery          = 1    // of the writes that a daemon is killed at
	fleetObjects        = 500  // that are made while clusters join and leave
)
