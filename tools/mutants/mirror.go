package main

import "slices"

// ofMirror are mutants of the controller.
var ofMirror = slices.Concat(ofDecide, ofPlan, ofBreaker, ofLedger, ofObserved, ofSource, ofFacts, ofSync, ofEnqueue)
