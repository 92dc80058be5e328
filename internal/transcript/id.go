package transcript

import (
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
)

// NewID returns a new session id: a random UUID.
func NewID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ValidID reports whether id is a UUID in lower case, and so may be part of a
// file name.
func ValidID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// File returns the path of the transcript of session id in a project's directory.
func File(dir, id string) string { return filepath.Join(dir, id+".jsonl") }
