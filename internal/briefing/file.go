package briefing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf16"
)

// readRegular reads a regular file of at most limit bytes. Whatever else stands at path,
// a pipe without a writer too, it does not wait.
func readRegular(path string, limit int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, cause(err)
	case len(b) > limit:
		return nil, fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return b, nil
}

// decode returns a file's text in UTF-8, with \n at the ends of lines.
func decode(b []byte) (string, error) {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		b = fromUTF16(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		b = fromUTF16(b[2:], binary.BigEndian)
	default:
		b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", errors.New("it is not a text")
	}
	return strings.ReplaceAll(string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), "\r\n", "\n"), nil
}

func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
