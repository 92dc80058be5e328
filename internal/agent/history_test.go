package agent

import (
	"fmt"
	"strings"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
)

// grown returns a history of n messages of so many bytes each.
func grown(n, size int) *History {
	h := NewHistory(model.Prompt{System: []string{"sys"}})
	h.use(&fake{})
	text := strings.Repeat("x", size)
	for i := range n {
		role, origin := message.User, Human
		if i%2 == 1 {
			role, origin = message.Assistant, FromModel
		}
		h.Append(message.Message{Role: role, Content: []message.Block{message.Text{Text: text}}}, origin)
	}
	return h
}

func TestMarksBridgeWideTurns(t *testing.T) {
	h := grown(3, 1)
	h.request()
	if _, _, marks := h.request(); len(marks) != 0 {
		t.Errorf("marks = %v, want none: the provider marks the end by itself", marks)
	}
	wide := message.Message{Role: message.Assistant}
	results := message.Message{Role: message.User}
	for i := range 11 {
		u := use(fmt.Sprint("t", i), "Read")
		wide.Content = append(wide.Content, u)
		results.Content = append(results.Content, message.ToolResult{ToolUseID: u.ID})
	}
	h.Append(wide, FromModel)
	h.Append(results, FromTools)
	if _, _, marks := h.request(); fmt.Sprint(marks) != "[2]" {
		t.Errorf("marks = %v after 22 new blocks, want one where the last request ended", marks)
	}
}

func TestRequestsDoNotShareRoomToGrow(t *testing.T) {
	h := grown(2, 1)
	_, first, _ := h.request()
	_ = append(first, []byte("someone else's"))
	h.Append(message.FromUser("mine"), Human)
	if _, second, _ := h.request(); string(second[2]) != string((&fake{}).EncodeMessage(message.FromUser("mine"))) {
		t.Errorf("the third message became %q", second[2])
	}
}

// The next request costs what is new, not what is there: compare the two sizes.
func BenchmarkNextRequest(b *testing.B) {
	for _, megabytes := range []int{1, 8} {
		b.Run(fmt.Sprintf("%dMB", megabytes), func(b *testing.B) {
			h := grown(megabytes*1000, 1000)
			answer := message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: "ok"}}}
			question := message.FromUser("go on")
			b.ReportAllocs()
			for b.Loop() {
				h.Append(answer, FromModel)
				h.Append(question, Human)
				h.request()
			}
		})
	}
}
