package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // formats that image.DecodeConfig knows
	_ "image/jpeg"
	_ "image/png"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/message"
	"heddle/internal/tool"
)

const (
	maxImage = 5 << 20 / 4 * 3 // bytes of the largest picture that model APIs take: 5 MB in base64
	maxSide  = 8000            // pixels
	maxArea  = 20_000_000      // pixels; to look at more takes 80 MB
	// What the pictures of one result may have together, in bytes of base64: requests have a
	// limit, and each later one carries them, too.
	maxPictures = 8 << 20
	maxPrompt   = 400_000 // bytes of text of a prompt
)

// resultOf is the result of a call as models read it.
func resultOf(res *sdk.CallToolResult) tool.Result {
	r := tool.Result{Content: blocks(res.Content), IsError: res.IsError}
	if res.StructuredContent == nil {
		return r
	}
	r.Data = res.StructuredContent
	if len(r.Content) == 0 { // some servers answer only so
		if text, err := json.Marshal(res.StructuredContent); err == nil {
			r.Content = []message.Block{message.Text{Text: string(text)}}
		}
	}
	return r
}

func blocks(content []sdk.Content) []message.Block {
	var list []message.Block
	size := 0
	for _, c := range content {
		b := block(c)
		if p, ok := b.(message.Image); ok {
			if size+len(p.Data) > maxPictures {
				b = note("a further picture, left out: together they are too large")
			} else {
				size += len(p.Data)
			}
		}
		list = append(list, b)
	}
	return list
}

// block is one piece of content. What models cannot see is named.
func block(c sdk.Content) message.Block {
	switch c := c.(type) {
	case *sdk.TextContent:
		return message.Text{Text: printable(c.Text)}
	case *sdk.ImageContent:
		return picture(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return note("audio, %s, %d bytes, which cannot be heard here", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return note("resource %s %q (%s): read it with ReadMcpResource", c.URI, c.Name, c.MIMEType)
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return note("an empty resource")
		}
		return resource(c.Resource)
	}
	return note("content of a kind that is not known here: %T", c)
}

func note(format string, args ...any) message.Block {
	return message.Text{Text: "[" + plain(fmt.Sprintf(format, args...), maxDescription) + "]"}
}

// printable keeps tabs and line ends and whatever else is no control of a terminal. A
// carriage return of a server is part of a file, not a frame of a progress bar.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsFunc(text, isTerminalControl) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isTerminalControl(r) {
			return '\ufffd'
		}
		return r
	}, text)
}

func isTerminalControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0
}

// resource is the content of a resource, which may be a picture.
func resource(r *sdk.ResourceContents) message.Block {
	switch {
	case len(r.Blob) == 0:
		return message.Text{Text: printable(r.Text)}
	case strings.HasPrefix(r.MIMEType, "image/"):
		return picture(r.MIMEType, r.Blob)
	}
	return note("resource %s: %s, %d bytes that are no text", r.URI, r.MIMEType, len(r.Blob))
}

// picture is one that model APIs take, or a note: one that they refuse would spoil every
// request from then on.
func picture(kind string, data []byte) message.Block {
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	if len(data) > maxImage {
		return note("picture, %s, %.1f MB, too large to be shown", kind, float64(len(data))/(1<<20))
	}
	found := "webp"
	if !isWebP(data) {
		c, format, err := image.DecodeConfig(bytes.NewReader(data))
		if err == nil && (max(c.Width, c.Height) > maxSide || c.Width*c.Height > maxArea) {
			return note("picture, %s, %d×%d pixels, too large to be shown", kind, c.Width, c.Height)
		}
		if format == "png" {
			data = essential(data)
		}
		if err == nil { // what only begins well is refused, too
			_, _, err = image.Decode(bytes.NewReader(data))
		}
		if err != nil {
			return note("picture, %s, %d bytes, which cannot be shown", kind, len(data))
		}
		found = format
	}
	return message.Image{MediaType: "image/" + found, Data: base64.StdEncoding.EncodeToString(data)}
}

// essential leaves out of a PNG file what a picture can do without, such as colour profiles:
// a checksum may be wrong there, which some readers forgive and others do not.
func essential(data []byte) []byte {
	const signature, frame = 8, 12 // bytes; of a chunk, what is around its data
	if len(data) < signature {
		return data
	}
	out := append([]byte{}, data[:signature]...)
	for rest := data[signature:]; len(rest) >= frame; {
		size := int64(binary.BigEndian.Uint32(rest)) + frame
		if size > int64(len(rest)) {
			return data // cut off: its reader will say so
		}
		if kind := rest[4]; kind >= 'A' && kind <= 'Z' || string(rest[4:8]) == "tRNS" {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return out
}

// isWebP reports whether data looks like a whole WebP file: RIFF, the size of what follows,
// WEBP, and a picture of one of the three kinds.
func isWebP(data []byte) bool {
	if len(data) <= 20 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return false
	}
	size := int64(binary.LittleEndian.Uint32(data[4:]))
	switch string(data[12:16]) {
	case "VP8 ", "VP8L", "VP8X":
		return size+8 == int64(len(data)) || size+9 == int64(len(data)) // padded to an even size
	}
	return false
}
