package attach

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bash needs the permissions of a command, and prints it.
func bash() tool.Tool {
	command := func(c tool.Call) (string, error) {
		in, err := tool.Decode[struct{ Command string }](c)
		return in.Command, err
	}
	return tool.Tool{
		Name: "Bash",
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			text, err := command(c)
			return []tool.Effect{{Action: tool.Run, Target: text}}, err
		},
		Run: func(_ context.Context, c tool.Call) tool.Result {
			text, err := command(c)
			if err != nil {
				return tool.Failf("%v", err)
			}
			return tool.Text(text)
		},
	}
}

// read needs the permission to read a file, and shows it as an image.
func read() tool.Tool {
	path := func(c tool.Call) (string, error) {
		in, err := tool.Decode[struct {
			Path string `json:"file_path"`
		}](c)
		return in.Path, err
	}
	return tool.Tool{
		Name: "Read",
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			file, err := path(c)
			return []tool.Effect{{Action: tool.Read, Target: file}}, err
		},
		Run: func(_ context.Context, c tool.Call) tool.Result {
			file, err := path(c)
			if err != nil {
				return tool.Failf("%v", err)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				return tool.Failf("%v", err)
			}
			return tool.Result{Content: []message.Block{message.Text{Text: "An image."}, message.Image{MediaType: "image/png", Data: string(b)}}}
		},
	}
}
