package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/message"
	"heddle/internal/tool"
)

func TestReadNumbersLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", "\uFEFFone\r\n\ttwo\n\nfour without end")
	want := "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour without end\n"
	if got := b.ok(Read(), args{"file_path": b.path("a.txt")}); got != want {
		t.Errorf("Read = %q, want %q", got, want)
	}
}

func TestReadPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var text strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	path := b.put("long.txt", text.String())
	got := b.ok(Read(), args{"file_path": path})
	if !strings.HasSuffix(got, "  2000\tline 2000\n[Lines 1 to 2000 of 5000. To go on, read with offset 2001.]\n") {
		t.Errorf("the first page ends %q", got[len(got)-120:])
	}
	got = b.ok(Read(), args{"file_path": path, "offset": 4999})
	if got != "  4999\tline 4999\n  5000\tline 5000\n[The end: 5000 lines in all.]\n" {
		t.Errorf("the last page is %q", got)
	}
	b.fails(Read(), args{"file_path": path, "offset": 5001}, "has only 5000 lines")
	if v, ok := b.scope.Files.Version(path); !ok || v != tool.VersionOf([]byte(text.String())) {
		t.Error("the version of the whole file is not remembered")
	}
}

// TestReadIsBounded: a huge result must not fill the conversation.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("wide.txt", strings.Repeat("é", 1<<20)+"\nsecond\n"+strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000))
	got := b.ok(Read(), args{"file_path": path})
	if len(got) > textLimit+5000 {
		t.Errorf("the result has %d bytes", len(got))
	}
	if !strings.HasPrefix(got, "     1\t"+strings.Repeat("é", lineLimit)+"… [line cut: it has 2097153 bytes]\n     2\tsecond\n") {
		t.Errorf("the result begins %.100q", got)
	}
	if !strings.Contains(got[len(got)-200:], "one call gives at most 256 KB. To go on, read with offset ") {
		t.Errorf("the result ends %q", got[len(got)-200:])
	}
}

func TestReadOfAHugeFileStopsAfterTheWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("huge", "first\nsecond\n")
	if err := os.Truncate(path, editLimit+1<<20); err != nil { // sparse: costs no disk
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("line\n"), 4000), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	got := b.ok(Read(), args{"file_path": path, "offset": 2, "limit": 1})
	if !strings.HasPrefix(got, "     2\tline\n[Lines 2 to 2 of a very large file") {
		t.Errorf("Read = %.200q", got)
	}
	if b.scope.Files.Len() != 0 {
		t.Error("the version of a file that was not read is remembered")
	}
}

func TestReadSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("src/main.go", "package main\n")
	b.put("Screenshot 2026\u202fAM.txt", "x\n")
	b.put("bin", "\x7fELF\x00\x00")
	b.put("utf16.txt", "\xff\xfea\x00")
	b.put("odd\nname", "inside\n")
	pipe := b.path("pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	b.fails(Read(), args{"file_path": b.path("src/mian.go")}, "Did you mean "+b.path("src/main.go")+"?")
	b.fails(Read(), args{"file_path": b.path("src/Main.GO")}, "Did you mean "+b.path("src/main.go")+"?")
	b.fails(Read(), args{"file_path": b.path("Screenshot 2026 AM.txt")}, "Did you mean ")
	b.fails(Read(), args{"file_path": "/elsewhere/src/main.go"}, "Did you mean "+b.path("src/main.go")+"?")
	b.fails(Read(), args{"file_path": b.path("no/such/dir/x")}, "The nearest folder that exists is "+b.scope.Root)
	b.fails(Read(), args{"file_path": b.path("src/main.go/x")}, "There is no file")
	b.fails(Read(), args{"file_path": b.path("src")}, "is a folder. Use Glob")
	b.fails(Read(), args{"file_path": b.path("bin")}, "is a binary file (application/octet-stream, 6 bytes)")
	b.fails(Read(), args{"file_path": b.path("utf16.txt")}, "iconv")
	b.fails(Read(), args{"file_path": pipe}, "is a named pipe")
	b.fails(Read(), args{"file_path": "/dev/zero"}, "is a device")
	b.fails(Read(), args{"file_path": "a\x00b"}, "invalid argument")
	b.fails(Read(), args{"file_path": strings.Repeat("x", 5000)}, "file name too long")
	if got := b.ok(Read(), args{"file_path": "odd\nname"}); got != "     1\tinside\n" {
		t.Errorf("Read of an odd name = %q", got)
	}
	b.put("nothing", "")
	if got := b.ok(Read(), args{"file_path": "nothing"}); !strings.Contains(got, "exists and is empty") {
		t.Errorf("Read of an empty file = %q", got)
	}
	b.put("latin", "caf\xe9\n")
	if got := b.ok(Read(), args{"file_path": "latin"}); got != "     1\tcaf\uFFFD\n" {
		t.Errorf("Read of bytes that are not UTF-8 = %q", got)
	}
}

// TestKernelFilesThatWaitCanBeLeft: some regular files of the kernel block.
func TestKernelFilesThatWaitCanBeLeft(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/kmsg"); err != nil {
		t.Skip("there is no such file here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := newBench(t)
	// It may fail for many reasons; it must return.
	Read().Run(ctx, tool.Call{Name: "Read", Input: []byte(`{"file_path":"/proc/kmsg"}`), Scope: b.scope})
	if got := b.ok(Read(), args{"file_path": "/proc/self/status"}); !strings.Contains(got, "Name:") {
		t.Errorf("a file whose size is said to be 0 reads as %q", got)
	}
}

func TestReadImages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	b.put("a.txt", buf.String()) // the content decides, not the name
	r := b.call(Read(), args{"file_path": "a.txt"})
	if r.IsError || len(r.Content) != 2 {
		t.Fatalf("Read = %v", r)
	}
	want := message.Image{MediaType: "image/png", Data: base64.StdEncoding.EncodeToString(buf.Bytes())}
	if r.Content[1] != message.Block(want) || !strings.Contains(textOf(r), "image/png, 30×20 pixels") {
		t.Errorf("Read = %v", r.Content)
	}

	// Each of these would make the API refuse the whole conversation.
	b.put("big.png", buf.String()+strings.Repeat("x", 8<<20))
	b.fails(Read(), args{"file_path": "big.png"}, "a picture of 8.0 MB; models take at most 3.8 MB")
	b.put("cut.png", buf.String()[:20])
	b.fails(Read(), args{"file_path": "cut.png"}, "is damaged")
	buf.Reset()
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 9000, 1))); err != nil {
		t.Fatal(err)
	}
	b.put("wide.png", buf.String())
	b.fails(Read(), args{"file_path": "wide.png"}, "9000×1 pixels; models take at most 8000")
}

func TestWebPHeaders(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("\x00", 20)
	for name, tt := range map[string]struct {
		data          string
		width, height int
	}{
		"lossy":    {"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x80\x02\xe0\x01" + pad, 640, 480},
		"lossless": {"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x7f\xc2\x77\x00" + pad, 640, 480},
		"extended": {"RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x02\x00\xdf\x01\x00" + pad, 640, 480},
		"damaged":  {"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00" + pad, 0, 0},
		"short":    {"RIFF\x00\x00\x00\x00WEBPVP8 ", 0, 0},
		"unknown":  {"RIFF\x00\x00\x00\x00WEBPXXXX" + pad, 0, 0},
	} {
		w, h, err := webpDimensions([]byte(tt.data))
		if w != tt.width || h != tt.height || (err == nil) != (w > 0) {
			t.Errorf("%s: %d×%d, %v; want %d×%d", name, w, h, err, tt.width, tt.height)
		}
	}
}

func TestReadNotebook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	picture := base64.StdEncoding.EncodeToString(func() []byte {
		var buf bytes.Buffer
		if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}())
	b.put("n.ipynb", `{"cells":[
		{"cell_type":"markdown","id":"m1","source":"# Title"},
		{"cell_type":"code","id":"c1","source":["print(1)\n","x"],"outputs":[
			{"output_type":"stream","text":["1\n"]},
			{"output_type":"execute_result","data":{"text/plain":"'x'"}},
			{"output_type":"display_data","data":{"image/png":"`+picture+`","text/plain":"<Figure>"}},
			{"output_type":"display_data","data":{"image/png":"broken"}},
			{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[0;31mred\u001b[0m"]}]}],
		"nbformat":4,"nbformat_minor":5}`)
	r := b.call(Read(), args{"file_path": "n.ipynb"})
	want := "--- cell 0 (markdown, id m1)\n# Title\n--- cell 1 (code, id c1)\nprint(1)\nx\n--- output\n1\n--- output\n'x'\n" +
		"--- output\n[picture 1 below]\n--- output\n[a picture that is not shown]\n--- output\nred\nE: v\n"
	if got := textOf(r); got != want || len(r.Content) != 2 {
		t.Errorf("Read = %q with %d blocks, want %q", got, len(r.Content), want)
	}
	if got := b.ok(Read(), args{"file_path": "n.ipynb", "limit": 1}); !strings.HasSuffix(got, "[Cells 1 to 1 of 2. To go on, read with offset 2.]\n") {
		t.Errorf("Read of one cell = %q", got)
	}
	b.put("bad.ipynb", "{not json")
	b.fails(Read(), args{"file_path": "bad.ipynb"}, "is not a valid notebook")
}

func TestVersionOfIsTheSumThatReadStreams(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("x"))
	if tool.VersionOf([]byte("x")) != tool.Version(sum) {
		t.Error("tool.VersionOf is not SHA-256, which Read computes while it streams")
	}
}

func TestReadThroughASymlinkKnowsTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("real.txt", "x\n")
	if err := os.Symlink("real.txt", b.path("link.txt")); err != nil {
		t.Fatal(err)
	}
	b.ok(Read(), args{"file_path": "link.txt"})
	if _, ok := b.scope.Files.Version(filepath.Join(b.scope.Root, "real.txt")); !ok {
		t.Error("the file behind the link is not known")
	}
}
