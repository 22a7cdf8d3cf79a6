package state

import "github.com/karmada-target/karmada-mirror/render"

// Notes returns what the Work says of what was edited for its cluster.
func (w *Work) Notes() render.Notes {
	if w.rare == nil {
		return render.Notes{}
	}
	return w.notes
}

// IsAsWritten reports whether the Work notes what was written to it, and still has that content.
func (w *Work) IsAsWritten() bool { return w.rare != nil && w.asWritten }

// IsSuspended reports whether Karmada does not apply the Work or, if it is being deleted, did not before.
func (w *Work) IsSuspended() bool {
	return w.State == WorkSuspended || w.rare != nil && w.suspended
}

// IsAltered reports whether admission has made something else of what was written, by the Work's
// note: its generation counts the changes since.
func (w *Work) IsAltered() bool {
	return w.notesOther() && w.contentGeneration() <= w.notes.Generation
}

// IsEdited reports whether the Work was changed after it had been written, by its note.
func (w *Work) IsEdited() bool { return w.notesOther() && w.contentGeneration() > w.notes.Generation }

// contentGeneration is the generation without that of the deletion itself, which an API server counts as a change.
func (w *Work) contentGeneration() int64 {
	if w.Terminating {
		return w.Generation - 1
	}
	return w.Generation
}

func (w *Work) notesOther() bool { return w.rare != nil && w.notes.Written != "" && !w.asWritten }

// Renoted returns what a patch must note that leaves the content of a Work: the generation that it gives it, on which
// admission may alter it. It is nothing if nothing is noted, or another user has edited the Work.
func (w *Work) Renoted(generation int64) map[string]*string {
	if w.Notes().Written == "" || w.IsEdited() {
		return nil
	}
	return w.notes.Renoted(generation)
}
