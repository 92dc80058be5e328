package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"syscall"
)

// maxLine bounds the memory that one line of a broken file can take.
const maxLine = 256 << 20

// Read returns what [Open] would return for the file at path, without taking
// the lease or repairing anything. It may be read while it is written.
func Read(path string) ([]Record, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := load(f)
	if err != nil {
		return nil, err
	}
	return t.records, nil
}

// All yields every record of the file at path, also those before a
// compaction. An error is always the last element.
func All(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := openFile(path, os.O_RDONLY)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		lines := newLines(f)
		for {
			l, err := lines.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if l.blank() {
				continue
			}
			if !yield(l.record(), nil) {
				return
			}
		}
	}
}

// openFile opens a transcript. It refuses what is not a regular file: a link
// at the path could lead the writer anywhere.
func openFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("open transcript %s: it is a symbolic link, not a file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		what := "not a regular file"
		if info.IsDir() {
			what = "a directory, not a file"
		}
		err = fmt.Errorf("open transcript %s: it is %s", path, what)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// line is one line of the file, with its end if it has one.
type line struct {
	number  int
	offset  int64
	size    int64
	text    []byte // valid until the next call of next; nil when it is too long
	newline bool
}

func (l line) blank() bool { return l.size <= 2 && len(bytes.TrimSpace(l.text)) == 0 }

func (l line) damaged(err error) Damaged {
	return Damaged{Line: l.number, Offset: l.offset, Size: l.size, Err: err}
}

// record decodes l, or says that it is damaged.
func (l line) record() Record {
	if l.text == nil {
		return l.damaged(errors.New("the line is too long"))
	}
	r, err := decode(l.text)
	if err != nil {
		return l.damaged(err)
	}
	return r
}

// lines reads a file line by line, in constant memory beyond the longest one.
type lines struct {
	r      *bufio.Reader
	most   int64 // bytes of a line that is read at all
	buf    []byte
	number int
	offset int64
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), most: maxLine}
}

// next returns io.EOF after the last line.
func (s *lines) next() (line, error) {
	s.number++
	l := line{number: s.number, offset: s.offset}
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		l.size += int64(len(part))
		if l.size <= s.most {
			s.buf = append(s.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && l.size == 0:
			return line{}, io.EOF
		case err != nil && err != io.EOF:
			return line{}, fmt.Errorf("read transcript: %w", err)
		}
		s.offset += l.size
		l.newline = err == nil
		if l.size <= s.most {
			l.text = s.buf
		}
		return l, nil
	}
}
