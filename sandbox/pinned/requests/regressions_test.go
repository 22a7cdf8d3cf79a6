package requests

// sequences is how many are drawn.
const sequences = 5000

// regressions are sequences that have differed, as TestRequests printed them.
var regressions = map[string]sequence{}
