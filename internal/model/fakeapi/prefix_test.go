package fakeapi

import (
	"encoding/json"
	"strings"
	"testing"
)

// How requests begin is compared within a conversation.
func TestPrefix(t *testing.T) {
	end := `],"max_tokens":10,"stream":true}`
	begin := `{"model":"m","messages":[`
	turn := u1 + "," + a1 + "," + u1
	for _, c := range []struct {
		name, first, second string
		want                Prefix
	}{
		{"goes on", begin + u1 + end, begin + turn + end, Identical},
		{"asked again", begin + u1 + end, begin + u1 + end, Identical},
		{"with another limit", begin + u1 + end, begin + u1 + strings.Replace(end, "10", "11", 1), Identical},
		{"with a mark", begin + said("user", hint) + end, begin + said("user", marked("hint", mark)) + "," + a1 + "," + u1 + end, Marked},
		{"without the mark", begin + said("user", marked("hint", mark)) + end, begin + said("user", hint) + "," + a1 + "," + u1 + end, Marked},
		{"other words", begin + turn + end, begin + u1 + "," + strings.Replace(a1, "yes", "no", 1) + "," + u1 + end, Changed},
		{"another order of keys", begin + u1 + "," + a1 + "," + u1 + end, begin + u1 + `,{"content":"yes","role":"assistant"},` + u1 + end, Changed},
		{"taken back", begin + turn + end, begin + u1 + end, Changed},
		{"another conversation", begin + u1 + end, begin + said("user", hint) + end, First},
	} {
		serving(t, "agents:\n  - turns: [{text: a, repeat: forever}]\n", func(b *bed) {
			for _, body := range []string{c.first, c.second} {
				if a := b.post("/v1/messages", body); a.status != 200 {
					b.Fatalf("%s: %+v", c.name, a)
				}
			}
			seen := b.Requests()
			if seen[0].Prefix != First || seen[1].Prefix != c.want {
				b.Errorf("%s: %s, %s, want first, %s", c.name, seen[0].Prefix, seen[1].Prefix, c.want)
			}
			common := 0
			for common < len(c.first) && common < len(c.second) && c.first[common] == c.second[common] {
				common++
			}
			common = min(common, strings.LastIndex(c.first, end), strings.LastIndex(c.second, `],"max`))
			if c.want != First && seen[1].CommonPrefix != common {
				b.Errorf("%s: %d bytes in common, want %d", c.name, seen[1].CommonPrefix, common)
			}
		})
	}
}

// Agents that begin with the same words have conversations of their own.
func TestPrefixByAgent(t *testing.T) {
	serving(t, "agents:\n  - turns: [{text: a, repeat: forever}]\n", func(b *bed) {
		for _, agent := range []string{`{"type":"main"}`, `{"id":"a1","type":"Explore"}`, `{"id":"a2","type":"Explore"}`, `{"type":"main"}`} {
			b.post("/v1/messages", simple, "X-Heddle-Agent", agent)
		}
		seen := b.Requests()
		if seen[1].Prefix != First || seen[2].Prefix != First || seen[3].Prefix != Identical || seen[1].Agent != "Explore" {
			b.Errorf("%+v", seen)
		}
	})
}

// Thinking is bound to all that stood before it: sent back after the same words it
// is fine, after others it is refused.
func TestThinkingIsBoundToItsPrefix(t *testing.T) {
	script := "agents:\n  - turns: [{thinking: Hm., calls: [{tool: Bash}]}, {thinking: Again., text: done, repeat: forever}]\n"
	whole := func(extra, messages string) string { return asked(messages, extra) }
	system, tools := `"system":"s"`, `"tools":[`+tool+`]`
	serving(t, script, func(b *bed) {
		a := b.post("/v1/messages", whole(system+","+tools, u1))
		var m struct{ Content json.RawMessage }
		if err := json.Unmarshal([]byte(a.body), &m); err != nil {
			b.Fatal(err)
		}
		thought := `{"role":"assistant","content":` + string(m.Content) + `}`
		rest := "," + said("user", `{"type":"tool_result","tool_use_id":"toolu_1_1","content":"ok"}`)
		good := whole(system+","+tools, u1+","+thought+rest)
		for name, c := range map[string]struct {
			body string
			ok   bool
		}{
			"the same":            {good, true},
			"the same, marked":    {strings.Replace(good, `"content":"go"`, `"content":[`+marked("go", mark)+`]`, 1), true},
			"another model":       {strings.Replace(good, `"m"`, `"m2"`, 1), true},
			"more effort":         {strings.Replace(good, `"system"`, `"output_config":{"effort":"max"},"system"`, 1), true},
			"another system":      {strings.Replace(good, `"system":"s"`, `"system":"t"`, 1), false},
			"no system":           {strings.Replace(good, `"system":"s",`, ``, 1), false},
			"another tool":        {strings.Replace(good, `"description":"d"`, `"description":"e"`, 1), false},
			"other words before":  {strings.Replace(good, `"go"`, `"stop"`, 1), false},
			"more words before":   {strings.Replace(good, u1+",", u1+","+u1+",", 1), false},
			"other words thought": {strings.Replace(good, "Hm.", "Ha.", 1), false},
			"a cut signature":     {strings.Replace(good, "sig_", "sig", 1), false},
		} {
			if a := b.post("/v1/messages", c.body); (a.status == 200) != c.ok || !c.ok && !strings.Contains(a.body, "bound to a different conversation") {
				b.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
	})
}

// After pause_turn, and only then, a conversation may end with the answer.
func TestPauseTurn(t *testing.T) {
	script := "agents:\n  - turns: [{text: searching, thinking: Hm., stop: pause_turn}, {text: found}]\n"
	serving(t, script, func(b *bed) {
		a := b.post("/v1/messages", asked(u1))
		var m struct {
			Content json.RawMessage
			Stop    string `json:"stop_reason"`
		}
		if err := json.Unmarshal([]byte(a.body), &m); err != nil || m.Stop != "pause_turn" {
			b.Fatalf("%v: %s", err, a.body)
		}
		paused := `{"role":"assistant","content":` + string(m.Content) + `}`
		if a := b.post("/v1/messages", asked(u1+","+paused)); a.status != 200 || !strings.Contains(a.body, "found") {
			b.Errorf("going on: %+v", a)
		}
		if a := b.post("/v1/messages", asked(u1+","+strings.Replace(paused, "searching", "begging", 1))); a.status != 400 {
			b.Errorf("going on from something else: %+v", a)
		}
	})
}
