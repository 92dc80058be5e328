package sse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"heddle/internal/model"
)

// flood is an answer that never ends.
type flood struct{ event string }

func (e *flood) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(e.event, len(p)/len(e.event))), nil
}

func (e *flood) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(e), Request: r,
	}, nil
}

func TestAnswerWithoutEndIsBrokenOff(t *testing.T) {
	t.Parallel()
	server := NewServer("http://model.test", "/v1", http.Header{}, &http.Client{Transport: &flood{"data: " + strings.Repeat("x", 1000) + "\n\n"}}, Limits{})
	answer, err := server.Post(context.Background(), model.Agent{}, &model.Body{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for n := 0; n < maxAnswer/1000+2; n++ {
		if _, err = answer.Next(); err != nil {
			break
		}
	}
	var e *model.Error
	if !errors.As(err, &e) || e.Temporary() || !strings.Contains(e.Message, "longer than 64 MiB") {
		t.Errorf("error = %v, want one that says how long and is not tried again", err)
	}
}
