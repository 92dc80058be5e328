package builtin

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// makePDF writes a document whose pages show the given drawing instructions.
func makePDF(compress bool, pages ...string) string {
	var b strings.Builder
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, p := range pages {
		object("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		filter := ""
		if compress {
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			_, _ = w.Write([]byte(p))
			w.Close()
			p, filter = z.String(), "/Filter /FlateDecode "
		}
		object("<< %s/Length %d >>\nstream\n%s\nendstream", filter, len(p), p)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.String()
}

func words(s string) string { return "BT /F1 12 Tf 72 720 Td (" + s + ") Tj ET" }

func TestReadPDF(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, compress := range []bool{false, true} {
		b.put("a.pdf", makePDF(compress, words("Hello world")+" BT [(Wo) -300 (rd)] TJ T* (next) Tj ET", words("second page"), words("third")))
		want := "--- page 1 of 3\nHello world\nWo rd\nnext\n\n--- page 2 of 3\nsecond page\n\n--- page 3 of 3\nthird\n\n"
		if got := b.ok(Read(), args{"file_path": "a.pdf"}); got != want {
			t.Errorf("Read = %q, want %q", got, want)
		}
	}
	if got := b.ok(Read(), args{"file_path": "a.pdf", "pages": "2-9"}); !strings.HasPrefix(got, "--- page 2 of 3\nsecond page") {
		t.Errorf("Read of pages = %q", got)
	}
	b.fails(Read(), args{"file_path": "a.pdf", "pages": "4"}, "it has only 3 pages")
	b.fails(Read(), args{"file_path": "a.pdf", "pages": "x"}, `pages "x" is not a range`)
	b.put("empty.pdf", makePDF(false, "0 0 m"))
	b.fails(Read(), args{"file_path": "empty.pdf"}, "hold no text; they may be scanned")
	b.put("cut.pdf", makePDF(false, words("x"))[:300])
	b.fails(Read(), args{"file_path": "cut.pdf"}, "could not be read: ")
	var many []string
	for i := range pdfPages + 5 {
		many = append(many, words(fmt.Sprint("page ", i)))
	}
	b.put("many.pdf", makePDF(true, many...))
	if got := b.ok(Read(), args{"file_path": "many.pdf"}); !strings.HasSuffix(got, "[Pages 1 to 20 of 25. Say which pages to read, for example pages \"1-5\".]\n") {
		t.Errorf("Read of many pages ends %q", got[len(got)-120:])
	}
}

// TestHostilePDF: a file must not end the process, nor keep it busy.
func TestHostilePDF(t *testing.T) {
	t.Parallel()
	cyclic := strings.Replace(makePDF(false, words("x")), "/Kids [4 0 R ]", "/Kids [2 0 R ]", 1)
	for name, doc := range map[string]string{
		"deep brackets in the file":    strings.Replace(makePDF(false, words("x")), "/Kids [", "/Kids "+strings.Repeat("[", 3_000_000), 1),
		"deep brackets, compressed":    makePDF(true, strings.Repeat("[", 4_000_000)),
		"deep dictionaries":            makePDF(true, strings.Repeat("<</A ", 2_000_000)),
		"a page tree that is a circle": cyclic,
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errPDFSlow)
		text, err := pdfText(ctx, strings.NewReader(doc), int64(len(doc)), "")
		cancel()
		if err == nil {
			t.Errorf("%s: gives %.100q", name, text)
		}
	}
	bomb := makePDF(true, strings.Repeat(" ", 2<<20))
	if err := checkNesting(t.Context(), strings.NewReader(bomb), int64(len(bomb)), 1<<20); err == nil {
		t.Error("a file that expands to more than it may passes")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errPDFSlow)
	doc := makePDF(true, words("x"))
	if _, err := pdfText(ctx, strings.NewReader(doc), int64(len(doc)), ""); !errors.Is(err, errPDFSlow) {
		t.Errorf("after the time is over: %v", err)
	}
}

func TestOneBadInstructionKeepsThePage(t *testing.T) {
	t.Parallel()
	doc := makePDF(false, words("before")+" BT 1 2 3 TJ ( ET", words("after"))
	got, err := pdfText(t.Context(), strings.NewReader(doc), int64(len(doc)), "")
	if err != nil || !strings.Contains(got, "before") || !strings.Contains(got, "after") {
		t.Errorf("pdfText = %q, %v", got, err)
	}
}

func FuzzPDF(f *testing.F) {
	f.Add([]byte(makePDF(false, words("x"))), "")
	f.Add([]byte(makePDF(true, words("x"))), "1-")
	f.Fuzz(func(t *testing.T, doc []byte, pages string) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), pdfTime, errPDFSlow)
		defer cancel()
		// Whatever it is, it returns.
		text, err := pdfText(ctx, bytes.NewReader(doc), int64(len(doc)), pages)
		if err == nil && len(text) > 2*textLimit+1000 {
			t.Fatalf("%d bytes of text", len(text))
		}
	})
}
