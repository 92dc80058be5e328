package fakeapi

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// prompts are positions of ten tokens each, named by the blocks of a prompt: "abc*d"
// has four, with a breakpoint after c. "*" lives for five minutes, "#" for an hour.
func positions(text string) []position {
	var out []position
	var sum digest
	for _, r := range text {
		switch r {
		case '*':
			out[len(out)-1].life = shortLife
		case '#':
			out[len(out)-1].life = longLife
		default:
			sum = link(sum, []byte(string(r)))
			out = append(out, position{hash: sum, tokens: 10 * (len(out) + 1)})
		}
	}
	return out
}

const long = "abcdefghijklmnopqrstuvwxyz"

// The rules of prompt caching, one after the other: each request comes at a time after
// the first and its answer begins a second later.
func TestCache(t *testing.T) {
	type request struct {
		at     time.Duration
		prompt string
		want   CacheUse
	}
	use := func(read, write, write1h, input int) CacheUse { return CacheUse{read, write, write1h, input} }
	for name, requests := range map[string][]request{
		"a write happens at a breakpoint only": {
			{0, "abcd", use(0, 0, 0, 40)},
			{time.Second, "abcd*", use(0, 40, 0, 0)},
			{2 * time.Second, "ab*", use(0, 20, 0, 0)},
		},
		"what lies after the last breakpoint is input": {
			{0, "abc*d", use(0, 30, 0, 10)},
			{2 * time.Second, "abc*dd", use(30, 0, 0, 20)},
		},
		"the longest beginning is read": {
			{0, "ab*c*", use(0, 30, 0, 0)},
			{2 * time.Second, "abcde*", use(30, 20, 0, 0)},
			{4 * time.Second, "abxde*", use(20, 30, 0, 0)},
		},
		"one changed block loses what comes after it": {
			{0, "abcd*", use(0, 40, 0, 0)},
			{2 * time.Second, "xbcd*", use(0, 40, 0, 0)},
		},
		"a read looks back over 20 blocks": {
			{0, "a*", use(0, 10, 0, 0)},
			{2 * time.Second, long[:20] + "*", use(10, 190, 0, 0)},
		},
		"and over no more": {
			{0, "a*", use(0, 10, 0, 0)},
			{2 * time.Second, long[:21] + "*", use(0, 210, 0, 0)},
		},
		"unless a breakpoint stands between": {
			{0, "a*", use(0, 10, 0, 0)},
			{2 * time.Second, long[:10] + "*" + long[10:25] + "*", use(10, 240, 0, 0)},
		},
		"an entry lives five minutes": {
			{0, "ab*", use(0, 20, 0, 0)},
			{shortLife - time.Second, "ab*", use(20, 0, 0, 0)},
		},
		"and not longer, from the beginning of the request": {
			{0, "ab*", use(0, 20, 0, 0)},
			{shortLife, "ab*", use(0, 20, 0, 0)},
		},
		"a read renews": {
			{0, "ab*", use(0, 20, 0, 0)},
			{4 * time.Minute, "ab*c", use(20, 0, 0, 10)},
			{8 * time.Minute, "ab*", use(20, 0, 0, 0)},
			{14 * time.Minute, "ab*", use(0, 20, 0, 0)},
		},
		"a read from behind renews too": {
			{0, "ab*", use(0, 20, 0, 0)},
			{4 * time.Minute, "abc*", use(20, 10, 0, 0)},
			{8 * time.Minute, "abx*", use(20, 10, 0, 0)},
		},
		"an hour": {
			{0, "ab#c*", use(0, 10, 20, 0)},
			{2 * time.Second, "ab#c*", use(30, 0, 0, 0)},
			{30 * time.Minute, "ab#c*", use(20, 10, 0, 0)},
			{89 * time.Minute, "ab#", use(20, 0, 0, 0)},
			{150 * time.Minute, "ab#", use(0, 0, 20, 0)},
		},
		"an entry is readable when the answer begins": {
			{0, "ab*", use(0, 20, 0, 0)},
			{time.Second / 2, "ab*c", use(0, 20, 0, 10)},
			{time.Second, "ab*c", use(20, 0, 0, 10)},
		},
	} {
		c := cache{}
		zero := time.Now()
		type write struct {
			readable time.Time
			began    time.Time
			at       []position
		}
		var pending []write
		for i, r := range requests {
			now := zero.Add(r.at)
			for _, w := range pending {
				if !now.Before(w.readable) {
					c.store(w.at, w.began)
				}
			}
			p := positions(r.prompt)
			if got := c.look(p, now); got != r.want {
				t.Errorf("%s: request %d, %s: %+v, want %+v", name, i+1, r.prompt, got, r.want)
			}
			pending = append(pending, write{now.Add(time.Second), now, p})
		}
	}
}

// What a change of a request costs, as the API tells it: tools, system prompt, messages.
func TestWhatInvalidatesTheCache(t *testing.T) {
	base := func(model, tools, system, choice, message string) string {
		return fmt.Sprintf(`{"model":"%s","max_tokens":9,"tools":[{"name":"%s","input_schema":{"type":"object"},%s}],"system":[%s],%s"messages":[{"role":"user","content":[%s]}],%s}`,
			model, tools, mark, marked(system, mark), choice, marked(message, mark), mark)
	}
	first := base("m", "A", "sys", "", "hello there")
	for name, c := range map[string]struct {
		body string
		want string // what is read
	}{
		"nothing":        {first, "all"},
		"limit":          {strings.Replace(first, `:9,`, `:99,`, 1), "all"},
		"place of marks": {strings.Replace(first, mark+`}]}],`, mark+`},{"type":"text","text":"more"}]}],`, 1), "messages"},
		"message":        {base("m", "A", "sys", "", "hello"), "system"},
		"tool_choice":    {base("m", "A", "sys", `"tool_choice":{"type":"none"},`, "hello there"), "system"},
		"thinking":       {base("m", "A", "sys", `"thinking":{"type":"adaptive"},`, "hello there"), "system"},
		"effort":         {base("m", "A", "sys", `"output_config":{"effort":"low"},`, "hello there"), "system"},
		"system":         {base("m", "A", "sys2", "", "hello there"), "tools"},
		"tools":          {base("m", "B", "sys", "", "hello there"), "nothing"},
		"model":          {base("m2", "A", "sys", "", "hello there"), "nothing"},
	} {
		serving(t, "agents:\n  - turns: [{text: a, repeat: forever}]\n", func(b *bed) {
			for _, body := range []string{first, c.body} {
				if a := b.post("/v1/messages", body); a.status != 200 {
					b.Fatalf("%s: %+v", name, a)
				}
			}
			seen := b.Requests()
			wrote := seen[0].Cache.Write
			got := seen[1].Cache
			reads := map[string]bool{
				"all":      got.Read == wrote && got.Write == 0,
				"messages": got.Read == wrote && got.Write+got.Input > 0,
				"system":   got.Read > 0 && got.Read < wrote && got.Read > toolTokens,
				"tools":    got.Read == toolTokens,
				"nothing":  got.Read == 0,
			}
			if !reads[c.want] {
				b.Errorf("%s: read %d of %d, want %s: %+v", name, got.Read, wrote, c.want, got)
			}
		})
	}
}

// toolTokens is the length of the tools in TestWhatInvalidatesTheCache.
const toolTokens = len(`{"name":"A","input_schema":{"type":"object"}}`) / bytesPerToken

// A failed request writes nothing; forks that start together pay for themselves.
func TestCacheOverHTTP(t *testing.T) {
	body := strings.Replace(simple, `"max_tokens"`, mark+`,"max_tokens"`, 1)
	serving(t, "agents:\n  - turns: [{text: a, pause: 3s, fail: {status: 529}}]\n", func(b *bed) {
		b.post("/v1/messages", body)
		done := make(chan answer)
		for range 2 {
			go func() { done <- b.post("/v1/messages", body) }()
		}
		<-done
		<-done
		synctest.Wait()
		b.post("/v1/messages", body)
		seen := b.Requests()
		if seen[0].Cache != (CacheUse{}) {
			b.Errorf("the failed request used the cache: %+v", seen[0].Cache)
		}
		for i, want := range []bool{false, false, false, true} {
			if read := seen[i].Cache.Read > 0; read != want {
				b.Errorf("request %d read from the cache: %v, want %v: %+v", i+1, read, want, seen[i].Cache)
			}
		}
		if a := b.post("/v1/messages", body); !strings.Contains(a.body, fmt.Sprintf(`"cache_read_input_tokens":%d`, seen[3].Cache.Read)) {
			b.Errorf("the usage is not that of the cache: %s", a.body)
		}
	})
}

// Chat Completions find any beginning again, without marks.
func TestCacheOfChat(t *testing.T) {
	serving(t, "agents:\n  - turns: [{text: a, repeat: forever}]\n", func(b *bed) {
		b.post("/v1/chat/completions", chatSimple)
		a := b.post("/v1/chat/completions", strings.Replace(chatSimple, `"content":"go"}`, `"content":"go"},`+a1+`,{"role":"user","content":"on and on"}`, 1))
		first, second := b.Requests()[0].Cache, b.Requests()[1].Cache
		if first.Read != 0 || second.Read != first.prompt() || second.prompt() <= first.prompt() ||
			!strings.Contains(a.body, fmt.Sprintf(`"cached_tokens":%d`, second.Read)) || !strings.Contains(a.body, fmt.Sprintf(`"prompt_tokens":%d`, second.prompt())) {
			b.Errorf("cache %+v, then %+v: %s", first, second, a.body)
		}
	})
}
