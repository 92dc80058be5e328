package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// capture runs a script to the end of its output.
func capture(t *testing.T, c Capture, script string) (*Captured, Output, error) {
	t.Helper()
	p, err := c.Start(shell(script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := p.End(context.Background(), 0); err != nil {
			t.Error(err)
		}
	})
	output, err := p.Output(t.Context())
	return p, output, err
}

func contents(t interface{ Fatal(...any) }, o Output) []byte {
	r, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What comes out is what went in, whether it stays in memory, goes to the file, or is
// cut off.
func TestCaptureIsExact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	input, spill := filepath.Join(dir, "in"), filepath.Join(dir, "spilled")
	rapid.Check(t, func(t *rapid.T) {
		memory := rapid.IntRange(1, 200_000).Draw(t, "memory")
		size := rapid.OneOf(
			rapid.IntRange(0, 400_000),
			rapid.IntRange(max(0, memory-1), memory+1),
			rapid.IntRange(65_535, 65_537), // what a pipe holds
		).Draw(t, "size")
		limit := rapid.OneOf(
			rapid.Just(0),
			rapid.IntRange(1, 400_000),
			rapid.IntRange(max(1, size-1), size+1),
		).Draw(t, "limit")
		block := rapid.SampledFrom([]int{512, 4096, 65_536, 100_001}).Draw(t, "block")
		want := make([]byte, size)
		bytesOf := rand.NewChaCha8([32]byte{byte(size), byte(memory)})
		_, _ = bytesOf.Read(want) // it has no end
		if err := os.WriteFile(input, want, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(spill)

		c := Capture{Spill: spill, Memory: memory, Limit: int64(limit)}
		p, err := c.Start(shell(fmt.Sprintf("dd if=%s bs=%d 2>/dev/null", input, block)))
		if err != nil {
			t.Fatal(err)
		}
		output, err := p.Output(t.Context())
		<-p.Done()
		if limit > 0 && size > limit {
			want = want[:limit]
			if !errors.Is(err, ErrOutputFull) {
				t.Errorf("error = %v, want that of the limit", err)
			}
		} else if err != nil {
			t.Error(err)
		}
		if got := contents(t, output); !bytes.Equal(got, want) || output.Size != int64(len(want)) {
			t.Errorf("%d bytes came out, Size = %d, want the %d that went in", len(got), output.Size, len(want))
		}
		if inFile := output.File != ""; inFile != (len(want) > memory) {
			t.Errorf("in a file: %v, with %d bytes and %d in memory", inFile, len(want), memory)
		}
		if _, err := os.Stat(spill); (err == nil) != (output.File != "") {
			t.Errorf("the file: %v, although the output is in %q", err, output.File)
		}
	})
}

func TestCaptureHasBothStreamsInOrder(t *testing.T) {
	t.Parallel()
	p, output, err := capture(t, Capture{}, "echo 1; echo 2 >&2; echo 3; exit 5")
	if err != nil || string(output.Memory) != "1\n2\n3\n" || output.Held {
		t.Errorf("output = %+v, %v", output, err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 5 {
		t.Errorf("Wait = %v, %v", exit, err)
	}
}

func TestCaptureOfOneStream(t *testing.T) {
	t.Parallel()
	other, err := os.Create(filepath.Join(t.TempDir(), "errors"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s := shell("echo 1; echo 2 >&2")
	s.Stderr = other
	p, err := Capture{}.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.Output(t.Context())
	if err != nil || string(output.Memory) != "1\n" {
		t.Errorf("output = %+v, %v", output, err)
	}
}

// A process that stays behind does not keep the output waiting, whether it is silent or
// writes all the time.
func TestCaptureIsNotHeldUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script string }{
		{"silent", "sleep 300 & echo mine"},
		{"another session", "setsid sleep 300 & echo mine"},
		{"writes", "echo mine; while echo other; do :; done & exit 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needs(t, "setsid", c.script)
			p, err := Capture{Spill: filepath.Join(t.TempDir(), "out")}.Start(shell(c.script))
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			begin := time.Now()
			output, err := p.Output(t.Context())
			if took := time.Since(begin); took > captureDrain+time.Second {
				t.Errorf("the output took %v after the exit", took)
			}
			if err != nil || !output.Held || !bytes.HasPrefix(contents(t, output), []byte("mine\n")) {
				t.Errorf("output = %d bytes, held %v, %v", output.Size, output.Held, err)
			}
			if left, err := p.End(t.Context(), 0); err != nil {
				t.Errorf("End = %v, %v", left, err)
			}
		})
	}
}

// What the leader wrote is kept even if its reader comes after the time is over.
func TestCaptureSweepsThePipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // somebody holds it
	if _, err := w.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	k := keeper{Capture: Capture{Memory: 10}}
	if err := k.copy(r); !errors.Is(err, os.ErrDeadlineExceeded) || k.size != 0 {
		t.Fatalf("copy = %v, %d bytes", err, k.size)
	}
	if err := k.sweep(r); err != nil || string(k.memory) != "late" {
		t.Errorf("sweep = %v, %q", err, k.memory)
	}
}

func TestCaptureStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		name    string
		capture Capture
		want    int64
	}{
		{"in memory", Capture{Limit: 100_000}, 100_000},
		{"in the file", Capture{Spill: file, Memory: 1000, Limit: 300_000}, 300_000},
		{"without a file", Capture{Memory: 70_000}, 70_000},
	} {
		p, output, err := capture(t, c.capture, "exec yes")
		if !errors.Is(err, ErrOutputFull) || !strings.Contains(err.Error(), fmt.Sprint(c.want)) {
			t.Errorf("%s: error = %v, want the limit", c.name, err)
		}
		got := contents(t, output)
		if int64(len(got)) != c.want || output.Size != c.want || strings.Trim(string(got), "y\n") != "" {
			t.Errorf("%s: %d bytes, Size = %d, want %d", c.name, len(got), output.Size, c.want)
		}
		if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != syscall.SIGPIPE {
			t.Errorf("%s: Wait = %v, %v, want SIGPIPE", c.name, exit, err)
		}
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v, want mode 0600", info.Mode(), err)
	}
}

// Nobody can prepare the file, and what is there is left alone.
func TestCaptureMakesItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{target, link} {
		_, output, err := capture(t, Capture{Spill: path, Memory: 5}, "echo 1; sleep 0.05; echo 234567")
		if !errors.Is(err, fs.ErrExist) || string(output.Memory) != "1\n" || output.File != "" {
			t.Errorf("output = %+v, %v, want what was in memory", output, err)
		}
	}
	if kept, err := os.ReadFile(target); string(kept) != "precious" || err != nil {
		t.Errorf("the file that was there = %q, %v", kept, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target of the link: %v", err)
	}
}

func TestOutputEndsWithItsContextOnly(t *testing.T) {
	t.Parallel()
	p, err := Capture{}.Start(shell("exec sleep 300"))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := p.Output(ctx); !errors.Is(err, cause) {
		t.Errorf("Output = %v, want the cause", err)
	}
	if left, err := p.End(t.Context(), time.Second); err != nil {
		t.Errorf("End = %v, %v", left, err)
	}
	if output, err := p.Output(t.Context()); output.Size != 0 || output.Held || err != nil {
		t.Errorf("Output after the end = %+v, %v", output, err)
	}
}

func TestCaptureOfWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	if p, err := (Capture{}).Start(Spec{Path: "/no/such", Args: []string{"x"}}); p != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Start = %v, %v", p, err)
	}
}
