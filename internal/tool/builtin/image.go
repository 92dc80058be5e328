package builtin

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // formats that image.DecodeConfig knows
	_ "image/jpeg"
	_ "image/png"
	"io"

	"heddle/internal/message"
	"heddle/internal/tool"
)

// imageTypes are the pictures that models can see.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

const (
	// imageLimit is the size of the largest picture that APIs take: 5 MB in base64.
	imageLimit = 5 << 20 / 4 * 3
	// sideLimit is the greatest width or height that APIs take.
	sideLimit = 8000
)

// readImage shows a picture. One that an API would refuse is refused here:
// inside a conversation it would spoil every request from then on.
func readImage(s *tool.Scope, path, kind string, r io.Reader, size int64) (tool.Result, error) {
	if size > imageLimit {
		return tool.Result{}, refuse("%s is a picture of %.1f MB; models take at most %.1f MB. Make a smaller copy and read that.",
			show(path), float64(size)/(1<<20), float64(imageLimit)/(1<<20))
	}
	data, err := readAll(path, r, imageLimit)
	if err != nil {
		return tool.Result{}, err
	}
	width, height, err := dimensions(kind, data)
	if err != nil {
		return tool.Result{}, refuse("%s looks like a picture (%s) but is damaged: %v.", show(path), kind, err)
	}
	if max(width, height) > sideLimit {
		return tool.Result{}, refuse("%s is a picture of %d×%d pixels; models take at most %d on a side. Make a smaller copy and read that.",
			show(path), width, height, sideLimit)
	}
	seen(s, path, tool.VersionOf(data))
	return tool.Result{Content: []message.Block{
		message.Text{Text: fmt.Sprintf("%s: %s, %d×%d pixels, %d bytes", show(path), kind, width, height, len(data))},
		message.Image{MediaType: kind, Data: base64.StdEncoding.EncodeToString(data)},
	}}, nil
}

// showable reports whether an API would take a picture.
func showable(kind, encoded string) bool {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) > imageLimit {
		return false
	}
	width, height, err := dimensions(kind, data)
	return err == nil && max(width, height) <= sideLimit
}

func dimensions(kind string, data []byte) (width, height int, err error) {
	if kind == "image/webp" {
		return webpDimensions(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err
}

// webpDimensions reads the header of a WebP file, which begins
// RIFF size WEBP and then holds chunks; the first says how the picture is stored.
func webpDimensions(data []byte) (width, height int, err error) {
	if len(data) < 30 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	body := data[20:]
	switch string(data[12:16]) {
	case "VP8 ": // lossy: a key frame with a start code
		if body[3] != 0x9d || body[4] != 0x01 || body[5] != 0x2a {
			return 0, 0, image.ErrFormat
		}
		le := binary.LittleEndian
		return int(le.Uint16(body[6:]) & 0x3fff), int(le.Uint16(body[8:]) & 0x3fff), nil
	case "VP8L": // lossless: 14 bits each, less one
		if body[0] != 0x2f {
			return 0, 0, image.ErrFormat
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8X": // extended: 24 bits each, less one
		u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return u24(body[4:]) + 1, u24(body[7:]) + 1, nil
	}
	return 0, 0, image.ErrFormat
}
