package model

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Two agents that begin alike share the bytes; others do not, whatever it is that differs.
func TestPrefixesAreShared(t *testing.T) {
	var p prefixes
	encode := func(p Prompt) []byte { return fmt.Append(nil, p) }
	prompt := func(system, name, about, schema string) Prompt {
		return Prompt{System: []string{system}, Tools: []Tool{{Name: name, Description: about, Schema: json.RawMessage(schema)}}}
	}
	one := p.of(prompt("s", "t", "d", "{}"), encode)
	if two := p.of(prompt("s", "t", "d", "{}"), encode); &one[0] != &two[0] {
		t.Error("equal prompts have bytes of their own")
	}
	for _, other := range []Prompt{
		prompt("S", "t", "d", "{}"), prompt("s", "T", "d", "{}"), prompt("s", "t", "D", "{}"), prompt("s", "t", "d", "[]"), {System: []string{"s"}},
	} {
		if got := p.of(other, encode); string(got) != string(encode(other)) {
			t.Errorf("the prefix of %v is %q", other, got)
		}
	}
	for i := range 2 * keptPrefixes {
		p.of(prompt(fmt.Sprint(i), "t", "d", "{}"), encode)
	}
	if len(p.known) != keptPrefixes {
		t.Errorf("%d prefixes are kept, want %d", len(p.known), keptPrefixes)
	}
}
