package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ledongthuc/pdf"

	"heddle/internal/tool"
)

const (
	pdfLimit  = 64 << 20         // bytes of a file
	pdfTime   = 20 * time.Second // for one call
	pdfPages  = 20               // pages of one call, unless pages says which
	pdfDepth  = 5000             // nested calls of the library
	pagesHint = `Say which pages to read, for example pages "1-5".`
)

// readPDF gives the text of the pages that were asked for.
func readPDF(ctx context.Context, f io.ReaderAt, size int64, in readInput) (tool.Result, error) {
	if size > pdfLimit {
		return tool.Result{}, refuse("%s is a PDF file of %d MB; the most this tool takes is %d MB. Use a command such as pdftotext.",
			show(in.path), size>>20, pdfLimit>>20)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pdfTime, errPDFSlow)
	defer cancel()
	text, err := pdfText(ctx, f, size, in.Pages)
	var ours refusal
	switch {
	case errors.As(err, &ours):
		return tool.Result{}, refuse("%s: %s", show(in.path), ours)
	case err != nil:
		return tool.Result{}, refuse("%s: its text could not be read: %v. Use a command such as pdftotext.", show(in.path), err)
	}
	return tool.Text(text), nil
}

var (
	errPDFSlow = errors.New("it takes too long")
	errPDFDeep = errors.New("its objects are nested too deeply")
	errPDFFull = errors.New("enough text") // ends a page
)

// pdfText extracts text with a library that panics on what it does not expect
// and trusts every number in the file. So the library reads through a guard, and
// is left by a panic of our own once it has done enough.
func pdfText(ctx context.Context, f io.ReaderAt, size int64, pages string) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError(v)
		}
	}()
	if err := checkNesting(ctx, f, size, inflateLimit); err != nil {
		return "", err
	}
	r, err := pdf.NewReader(&guard{ctx, f}, size)
	if err != nil {
		return "", err
	}
	first, last, err := pageRange(pages, r.NumPage())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	empty := true
	for n := first; n <= last; n++ {
		if b.Len() > textLimit {
			fmt.Fprintf(&b, "\n[Cut here. To go on, read pages \"%d-%d\".]\n", n, last)
			return b.String(), nil
		}
		page, err := pageText(ctx, r.Page(n))
		if err != nil {
			return "", err
		}
		empty = empty && strings.TrimSpace(page) == ""
		fmt.Fprintf(&b, "--- page %d of %d\n%s\n", n, r.NumPage(), page)
	}
	if empty {
		return "", refuse("these pages hold no text; they may be scanned pictures. Turn them into images and read those.")
	}
	if pages == "" && last < r.NumPage() {
		fmt.Fprintf(&b, "[Pages %d to %d of %d. %s]\n", first, last, r.NumPage(), pagesHint)
	}
	return b.String(), nil
}

// panicError is the error of what the library panicked with.
func panicError(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("damaged or unusual PDF: %w", err)
	}
	return fmt.Errorf("damaged or unusual PDF: %v", v)
}

// pageRange reads "3", "2-5" or "7-"; without a range it is the first pages.
func pageRange(s string, total int) (first, last int, err error) {
	if total < 1 {
		return 0, 0, refuse("the file has no pages.")
	}
	if s = strings.TrimSpace(s); s == "" {
		return 1, min(total, pdfPages), nil
	}
	from, to, isRange := strings.Cut(s, "-")
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if err == nil && isRange {
		last = total
		if to = strings.TrimSpace(to); to != "" {
			last, err = strconv.Atoi(to)
		}
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, refuse("pages %q is not a range of pages. %s", s, pagesHint)
	}
	if first > total {
		return 0, 0, refuse("it has only %s.", plural(total, "page"))
	}
	return first, min(last, total), nil
}

// pageText walks the drawing instructions of a page and keeps the text. A
// page that breaks off in the middle keeps what came before.
func pageText(ctx context.Context, p pdf.Page) (text string, err error) {
	var b strings.Builder
	defer func() {
		v := recover()
		switch {
		case v == nil:
		case v == any(errPDFFull):
			b.WriteString("\n[page cut]")
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		default:
			fmt.Fprintf(&b, "\n[the rest of this page cannot be read: %v]", panicError(v))
		}
		text = tidy(b.String())
	}()
	if p.V.IsNull() || p.V.Key("Contents").IsNull() {
		return "", nil
	}
	fonts := map[string]*pdf.Font{}
	for _, name := range p.Fonts() {
		f := p.Font(name)
		fonts[name] = &f
	}
	w := pageWriter{out: &b, fonts: fonts}
	pdf.Interpret(p.V.Key("Contents"), func(stack *pdf.Stack, op string) {
		if ctx.Err() != nil {
			panic(context.Cause(ctx))
		}
		if b.Len() > textLimit {
			panic(errPDFFull)
		}
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		w.do(op, args)
	})
	return "", nil // set above
}

// pageWriter turns the instructions that show text into text.
type pageWriter struct {
	out   *strings.Builder
	fonts map[string]*pdf.Font
	font  pdf.TextEncoding
}

func (w *pageWriter) do(op string, args []pdf.Value) {
	last := func() pdf.Value {
		if len(args) == 0 {
			return pdf.Value{}
		}
		return args[len(args)-1]
	}
	switch op {
	case "BT", "T*":
		w.out.WriteByte('\n')
	case "Td", "TD", "Tm": // a move down starts a line, one along it a word
		if y := last().Float64(); y != 0 && op != "Tm" || op == "Tm" {
			w.out.WriteByte('\n')
		} else {
			w.out.WriteByte(' ')
		}
	case "Tf":
		w.font = nil
		if len(args) == 2 {
			if f := w.fonts[args[0].Name()]; f != nil {
				w.font = f.Encoder()
			}
		}
	case "'", `"`:
		w.out.WriteByte('\n')
		w.show(last())
	case "Tj":
		w.show(last())
	case "TJ": // pieces of text, and gaps in thousandths of the font size
		for i := range last().Len() {
			piece := last().Index(i)
			switch {
			case piece.Kind() == pdf.String:
				w.show(piece)
			case piece.Float64() < -200:
				w.out.WriteByte(' ')
			}
		}
	}
}

func (w *pageWriter) show(v pdf.Value) {
	raw := v.RawString()
	if w.font != nil {
		raw = w.font.Decode(raw)
	}
	w.out.WriteString(raw)
}

// tidy removes what layout leaves behind: control characters and empty lines.
func tidy(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(s, "\uFFFD")) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' {
				return -1
			}
			return r
		}, line)
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// guard stands between the library and the file. The library reads little at a
// time, so this is where a loop without end and a recursion too deep are noticed.
type guard struct {
	ctx context.Context // of the one call that this guard serves
	f   io.ReaderAt
}

func (g *guard) ReadAt(p []byte, at int64) (int, error) {
	if g.ctx.Err() != nil {
		panic(context.Cause(g.ctx))
	}
	var pc [1]uintptr
	if runtime.Callers(pdfDepth, pc[:]) > 0 {
		panic(errPDFDeep)
	}
	return g.f.ReadAt(p, at)
}
