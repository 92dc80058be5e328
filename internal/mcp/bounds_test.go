package mcp

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/config"
	"heddle/internal/message"
)

func TestListsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "endless"))
	st := s.Status()[0]
	if st.State != Connected || st.Tools != 1 || !strings.Contains(strings.Join(st.Warnings, "\n"), "has no end") {
		t.Errorf("status = %+v", st)
	}
	if got := string(s.Tools()[0].Schema); strings.Contains(got, "pattern") {
		t.Errorf("a pattern of JavaScript is left in %s", got)
	}
	if list, err := s.Resources(t.Context(), "a"); err == nil || len(list) > 0 || !strings.Contains(err.Error(), "no end") {
		t.Errorf("Resources = %v, %v; want that the list has no end", list, err)
	}
}

func TestServerThatAsksWithoutReading(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "pings"), command("b", "everything"))
	r := s.Call(t.Context(), "a", "only", nil, nil)
	if !r.IsError || !strings.Contains(textOf(r), "did not read the answers") {
		t.Errorf("a call of it = %q", textOf(r))
	}
	if r := s.Call(t.Context(), "b", "echo", []byte(`{"text":"hi"}`), nil); r.IsError {
		t.Errorf("a call of another = %q", textOf(r))
	}
}

func TestAnswerThatMakesNoSense(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "nonsense"))
	r := s.Call(t.Context(), "a", "only", nil, nil)
	if !r.IsError || !strings.Contains(textOf(r), "cannot be read") {
		t.Errorf("a call = %q", textOf(r))
	}
	if st := s.Status()[0]; st.State != Connected {
		t.Errorf("the server is %s after it", st.State)
	}
}

// TestClash holds that a rule about a tool means the one that is really called so.
func TestClash(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "clash"))
	full := map[string]string{}
	for _, tool := range s.Tools() {
		full[tool.Name] = tool.Full
	}
	if full["delete_all"] != "mcp__a__delete_all" || len(full) != 3 || full["delete.all"] == full["delete all"] {
		t.Errorf("the tools are called %v", full)
	}
}

// TestQuestionsBelongToCalls holds that a server asks one thing at a time, and only while
// something is asked of it.
func TestQuestionsBelongToCalls(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	v := &server{opts: Options{Elicit: func(ctx context.Context, _ string, _ Elicitation) Answer {
		close(asked)
		<-ctx.Done()
		return Answer{Action: Cancel}
	}}}
	ask := func() string {
		r, err := v.elicit(t.Context(), &sdk.ElicitRequest{Params: &sdk.ElicitParams{Message: "?"}})
		if err != nil {
			t.Error(err)
		}
		return r.Action
	}
	if got := ask(); got != Decline {
		t.Errorf("a question out of nowhere: %s", got)
	}
	done := v.use()
	var wait sync.WaitGroup
	wait.Go(func() {
		if got := ask(); got != Cancel {
			t.Errorf("a question whose call has ended: %s", got)
		}
	})
	<-asked
	if got := ask(); got != Decline {
		t.Errorf("a second question: %s", got)
	}
	done()
	wait.Wait()
}

func TestPictures(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	if err := png.Encode(&whole, image.NewGray(image.Rect(0, 0, 60, 60))); err != nil {
		t.Fatal(err)
	}
	webp := func(size string) []byte { return []byte("RIFF" + size + "WEBPVP8L" + strings.Repeat("x", 20)) }
	for _, test := range []struct {
		name string
		data []byte
		want bool
	}{
		{"whole", whole.Bytes(), true},
		{"cut off", whole.Bytes()[:whole.Len()-20], false},
		{"only a header", whole.Bytes()[:40], false},
		{"no picture", []byte("<svg>"), false},
		{"webp", webp("\x1c\x00\x00\x00"), true},
		{"webp of another length", webp("\xff\x00\x00\x00"), false},
		{"webp of junk", []byte("RIFF\x10\x00\x00\x00WEBPjunkjunkjunk"), false},
	} {
		if _, got := picture("image/png", test.data).(message.Image); got != test.want {
			t.Errorf("%s: shown %v, want %v", test.name, got, test.want)
		}
	}
	var many []sdk.Content
	for range 20 {
		many = append(many, &sdk.ImageContent{MIMEType: "image/png", Data: noisy(t)})
	}
	size := 0
	for _, b := range blocks(many) {
		if p, ok := b.(message.Image); ok {
			size += len(p.Data)
		}
	}
	if size == 0 || size > maxPictures {
		t.Errorf("the pictures of one result have %d bytes together, want at most %d", size, maxPictures)
	}
}

// noisy is a picture of about 800 kB.
func noisy(t *testing.T) []byte {
	t.Helper()
	g := image.NewGray(image.Rect(0, 0, 900, 900))
	state := uint32(1)
	for i := range g.Pix {
		state = state*1664525 + 1013904223
		g.Pix[i] = byte(state >> 24)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, g); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSecretsAreNotShown holds that what a variable stands for appears nowhere.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	l, err := config.Text(config.Project, "f", []byte(`{"a": {"url": "http://127.0.0.1:1/${TOK}/x"}, "b": {"command": "sh", "args": ["-c", "echo ${TOK} >&2; exit 1"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	const secret = "supersecret123"
	servers, problems, _ := Parse(l, "", func(string) (string, bool) { return secret, true })
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := open(t, Options{}, servers...)
	for i, st := range s.Status() {
		where := servers[i].Where()
		if strings.Contains(where, secret) || !strings.Contains(where, "TOK") {
			t.Errorf("Where = %s", where)
		}
		if st.Error == "" || strings.Contains(st.Error, secret) {
			t.Errorf("the error of %s is %q", st.Name, st.Error)
		}
	}
}

// TestPictureWithAWrongChecksum holds that what a picture can do without does not cost it.
func TestPictureWithAWrongChecksum(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	if err := png.Encode(&whole, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
		t.Fatal(err)
	}
	const afterHeader = 8 + 25 // the signature, and IHDR with what is around it
	profile := "\x00\x00\x00\x02iCCPxxBAD!"
	data := append([]byte{}, whole.Bytes()[:afterHeader]...)
	data = append(append(data, profile...), whole.Bytes()[afterHeader:]...)
	if _, ok := picture("image/png", data).(message.Image); !ok {
		t.Error("a picture with a bad colour profile is not shown")
	}
}
