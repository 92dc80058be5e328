// Package scripted is a model that plays a script: for tests, demos and bug
// reports. A script is YAML; docs/scripted-models.md describes it.
package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"heddle/internal/message"
)

// Script says what each agent answers, turn by turn.
type Script struct {
	Agents []Agent `yaml:"agents"`
	Quirks Quirks  `yaml:"quirks"`
}

// Agent is a rule: the first that fits an agent plays it.
type Agent struct {
	Main   bool    `yaml:"main"`   // only the main conversation
	Type   string  `yaml:"type"`   // only sub-agents of this type
	Name   string  `yaml:"name"`   // only the agent of this name
	Prompt Pattern `yaml:"prompt"` // only if the first text of the user matches
	System Pattern `yaml:"system"` // only if the system prompt matches
	Turns  []Turn  `yaml:"turns"`
	// Summary answers a request to summarise the conversation.
	Summary string `yaml:"summary"`
}

// Turn is one answer.
type Turn struct {
	// Expect must match the newest message of the user, or the run fails.
	Expect Pattern `yaml:"expect"`
	// Wait holds the turn back until the newest message of the user matches.
	Wait Pattern `yaml:"wait"`
	// Capture takes values out of the newest message of the user: the first group, or
	// the whole match. ${name} stands for a value in this turn and later ones.
	Capture map[string]Pattern `yaml:"capture"`

	Thinking string             `yaml:"thinking"`
	Text     string             `yaml:"text"`
	Calls    []Call             `yaml:"calls"`
	Stop     message.StopReason `yaml:"stop"`
	Category string             `yaml:"category"` // of a refusal
	Usage    *Usage             `yaml:"usage"`

	Pause  Duration `yaml:"pause"`  // before the answer begins
	Chunk  int      `yaml:"chunk"`  // characters of each piece of text; 0: 40
	Repeat Repeat   `yaml:"repeat"` // how many turns like this, or forever
	Fail   *Failure `yaml:"fail"`
}

// Call is a tool call. Input keeps the order of its keys.
type Call struct {
	Tool     string        `yaml:"tool"`
	ID       string        `yaml:"id"` // made up if empty
	Input    yaml.MapSlice `yaml:"input"`
	InputRaw string        `yaml:"input_raw"` // the JSON text as it is, also if it is broken
}

// Usage overrides the figures that are derived from lengths.
type Usage struct {
	Input      int `yaml:"input"`
	CacheRead  int `yaml:"cache_read"`
	CacheWrite int `yaml:"cache_write"`
	Output     int `yaml:"output"`
}

// Failure is a way in which a request fails. It happens Times times, once if that is
// 0, and then the turn is played.
type Failure struct {
	Times Repeat `yaml:"times"`

	Status     int      `yaml:"status"` // an HTTP error
	RetryAfter Duration `yaml:"retry_after"`
	Type       string   `yaml:"type"`
	Message    string   `yaml:"message"`
	HTML       bool     `yaml:"html"` // the error is a page, as of a proxy

	Cut        int      `yaml:"cut"`         // the connection ends after so many events
	CutInside  bool     `yaml:"cut_inside"`  // … in the middle of the next one
	ErrorEvent string   `yaml:"error_event"` // an error of this type, after Cut events
	Silence    Duration `yaml:"silence"`     // nothing comes for so long; then the connection ends
	Pings      Duration `yaml:"pings"`       // only pings come for so long; then the turn is played
	Disorder   bool     `yaml:"disorder"`    // a delta of a block that has not begun
}

// Quirks make the Chat Completions side behave like some local servers.
type Quirks struct {
	ZeroIndex  bool `yaml:"zero_index"`   // every call has index 0
	NoIDs      bool `yaml:"no_ids"`       // calls have no id
	WholeCalls bool `yaml:"whole_calls"`  // arguments come in one piece
	StopOnCall bool `yaml:"stop_on_call"` // finish_reason is stop in spite of calls
	NoDone     bool `yaml:"no_done"`      // no [DONE] at the end
	NoUsage    bool `yaml:"no_usage"`
}

// Pattern is a regular expression. An empty one matches everything.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (p *Pattern) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err != nil || s == "" {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return fmt.Errorf("not a regular expression: %w", err)
	}
	p.Regexp = re
	return nil
}

func (p Pattern) matches(s string) bool { return p.Regexp == nil || p.MatchString(s) }

// Duration is a time such as 200ms.
type Duration time.Duration

// UnmarshalYAML parses the time.
func (d *Duration) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a time such as 200ms or 3s", s)
	}
	*d = Duration(v)
	return nil
}

// Repeat is a number of times; forever is a very large one.
type Repeat int

const forever = 1 << 30

// UnmarshalYAML parses the number, or forever.
func (r *Repeat) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err == nil && s == "forever" {
		*r = forever
		return nil
	}
	var n int
	if err := unmarshal(&n); err != nil || n < 1 {
		return errors.New("want a number of times, or forever")
	}
	*r = Repeat(n)
	return nil
}

// maxScript is how large a script may be.
const maxScript = 1 << 20

// LoadFile reads the script in a file.
func LoadFile(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the script: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return Load(path, b)
}

// Load reads a script. Errors name the file, line and column.
func Load(name string, data []byte) (*Script, error) {
	if len(data) > maxScript {
		return nil, fmt.Errorf("%s: the script is larger than 1 MiB", name)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	// Aliases can make a small file expand without end, and no script needs them.
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.UseOrderedMap())
	var s Script
	if err := dec.Decode(&s); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: the script is empty", name)
		}
		return nil, fmt.Errorf("%s: %s", name, strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if len(s.Agents) == 0 {
		return nil, fmt.Errorf("%s: the script has no agents", name)
	}
	for i, a := range s.Agents {
		if len(a.Turns) == 0 {
			return nil, fmt.Errorf("%s: agents[%d] has no turns", name, i)
		}
		for j, t := range a.Turns {
			if err := t.check(); err != nil {
				return nil, fmt.Errorf("%s: agents[%d].turns[%d]: %w", name, i, j, err)
			}
		}
	}
	return &s, nil
}

func (t Turn) check() error {
	for _, c := range t.Calls {
		if c.Tool == "" {
			return errors.New("a call names no tool")
		}
		if c.InputRaw != "" && len(c.Input) > 0 {
			return fmt.Errorf("the call of %s has both input and input_raw", c.Tool)
		}
	}
	return nil
}
