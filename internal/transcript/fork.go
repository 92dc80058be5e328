package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"os"
)

// Fork begins a new session at path with the live conversation of the one at
// from, which stays as it is and may be in use. It returns what [Open] would
// return for the new file. The costs stay with the parent, who paid them.
func Fork(from, path string, h Header) (*Writer, []Record, error) {
	parent, err := Read(from)
	if err != nil {
		return nil, nil, fmt.Errorf("fork: %w", err)
	}
	for _, r := range parent {
		if p, ok := r.(Header); ok {
			h.Parent, h.Model = cmp.Or(h.Parent, p.Session), cmp.Or(h.Model, p.Model)
		}
	}
	w, err := Create(path, h)
	if err != nil {
		return nil, nil, fmt.Errorf("fork: %w", err)
	}
	for _, r := range parent {
		switch copied := r.(type) {
		case Header, Damaged, Name:
			continue // a name belongs to one session
		case Message:
			copied.Cost = 0
			r = copied
		case Compaction:
			copied.Cost = 0
			r = copied
		}
		if err := w.Append(r); err != nil {
			os.Remove(path)
			return nil, nil, errors.Join(fmt.Errorf("fork: %w", err), w.Close())
		}
	}
	records, err := Read(path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("fork: %w", err), w.Close())
	}
	return w, records, nil
}
