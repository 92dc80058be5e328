package arch

import (
	"os"
	"strings"
	"testing"
)

// The document shows the policy, and must not lag behind it.
func TestPictureShowsPolicy(t *testing.T) {
	doc, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```"+policy+"```") {
		t.Error("docs/architecture.md does not show the import policy as it is")
	}
}
