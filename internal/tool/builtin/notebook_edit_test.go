package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sampleNotebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"z": 1, "a": 1.0},
   "source": [
    "# Title\n",
    "text <b> & é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
   ],
   "source": "print(1)"
  }
 ],
 "metadata": { "kernelspec":{"name":"python3"} },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookEdit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		in       args
		old, new string // the only difference in the text
	}{
		{"replace a list of lines", args{"cell_id": "intro", "new_source": "# New\n\"x\"\n"},
			"    \"# Title\\n\",\n    \"text <b> & é\"\n", "    \"# New\\n\",\n    \"\\\"x\\\"\\n\"\n"},
		{"replace a string, clear the outputs", args{"cell_id": "1", "new_source": "a < b"},
			"\"execution_count\": 3,\n   \"id\": \"calc\",\n   \"metadata\": {},\n   \"outputs\": [\n    {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\"]}\n   ],\n   \"source\": \"print(1)\"",
			"\"execution_count\": null,\n   \"id\": \"calc\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": \"a < b\""},
		{"delete the first", args{"cell_id": "intro", "new_source": "", "edit_mode": "delete"},
			sampleNotebook[strings.Index(sampleNotebook, "{\n   \"cell_type\": \"markdown"):strings.Index(sampleNotebook, "{\n   \"cell_type\": \"code")], ""},
		{"delete the last", args{"cell_id": 1, "edit_mode": "delete"},
			sampleNotebook[strings.Index(sampleNotebook, ",\n  {\n   \"cell_type\": \"code"):strings.Index(sampleNotebook, "\n ],")], ""},
		{"other type", args{"cell_id": "calc", "cell_type": "markdown", "new_source": "m"},
			sampleNotebook[strings.Index(sampleNotebook, "{\n   \"cell_type\": \"code"):strings.Index(sampleNotebook, "\n ],")],
			"{\n   \"cell_type\": \"markdown\",\n   \"id\": \"calc\",\n   \"metadata\": {},\n   \"source\": [\n    \"m\"\n   ]\n  }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.put("n.ipynb", sampleNotebook)
			b.ok(Read(), args{"file_path": path})
			tt.in["notebook_path"] = path
			b.ok(NotebookEdit(b.locks), tt.in)
			b.holds("n.ipynb", strings.Replace(sampleNotebook, tt.old, tt.new, 1))
		})
	}
}

func TestNotebookInsert(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("n.ipynb", sampleNotebook)
	b.ok(Read(), args{"file_path": path})
	b.ok(NotebookEdit(b.locks), args{"notebook_path": path, "edit_mode": "insert", "cell_type": "code", "new_source": "first\nline"})
	b.ok(NotebookEdit(b.locks), args{"notebook_path": path, "edit_mode": "insert", "cell_id": "calc", "cell_type": "markdown", "new_source": "last"})
	got := b.ok(Read(), args{"file_path": path})
	parts := strings.Split(got, "--- cell ")
	if len(parts) != 5 || !strings.HasPrefix(parts[1], "0 (code, id ") || !strings.HasSuffix(parts[1], ")\nfirst\nline\n") ||
		!strings.HasPrefix(parts[4], "3 (markdown, id ") {
		t.Errorf("the notebook reads %q", got)
	}
}

func TestNotebookEditRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("n.ipynb", sampleNotebook)
	edit := NotebookEdit(b.locks)
	in := func(more args) args {
		more["notebook_path"] = path
		return more
	}
	b.fails(edit, in(args{"cell_id": "calc", "new_source": "x"}), "You have not read")
	b.ok(Read(), args{"file_path": path})
	b.fails(edit, in(args{"cell_id": "none", "new_source": "x"}), `no cell "none" in this notebook, which has 2 cells`)
	b.fails(edit, in(args{"cell_id": "2", "new_source": "x"}), `no cell "2"`)
	b.fails(edit, in(args{"new_source": "x"}), "cell_id is missing")
	b.fails(edit, in(args{"cell_id": "calc"}), "new_source is missing")
	b.fails(edit, in(args{"edit_mode": "insert", "new_source": "x"}), "cell_type is missing")
	b.fails(edit, in(args{"cell_id": "calc", "new_source": "x", "edit_mode": "move"}), `edit_mode "move" is not known`)
	b.fails(edit, args{"notebook_path": b.path("o.ipynb"), "cell_id": "0", "new_source": "x"}, "There is no file")
	b.holds("n.ipynb", sampleNotebook)
}

func TestNotebookInOneLineStaysInOneLine(t *testing.T) {
	t.Parallel()
	text := "\uFEFF" + `{"nbformat_minor":2,"nbformat":4,"cells":[]}`
	got, at, err := editNotebook(text, cellEdit{mode: "insert", kind: "raw", source: "a\nb"})
	want := "\uFEFF" + `{"nbformat_minor":2,"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["a\n","b"]}]}`
	if got != want || at != 0 || err != nil {
		t.Errorf("editNotebook = %q, %d, %v; want %q", got, at, err, want)
	}
}

func FuzzNotebookEdit(f *testing.F) {
	f.Add(sampleNotebook, "intro", "replace", "code", "x\ny")
	f.Add(`{"cells":[{"source":""}]}`, "0", "delete", "", "")
	f.Add(`{"cells":[{"source":[],"so\"urce\\":1}],"cells":[]}`, "", "insert", "raw", "\xff")
	f.Add(`{"a\\":1,"cells":[{"id":"x","cell_type":"code","source":"s"},2]}`, "x", "replace", "", "y")
	f.Fuzz(func(t *testing.T, text, cell, mode, kind, source string) {
		switch mode {
		case "insert", "delete", "replace":
		default:
			return
		}
		if mode != "insert" && cell == "" {
			return
		}
		result, at, err := editNotebook(text, cellEdit{mode: mode, cell: cell, kind: kind, source: source})
		if err != nil {
			return
		}
		type shape struct {
			Cells []json.RawMessage `json:"cells"`
		}
		var before, after shape
		if json.Unmarshal([]byte(strings.TrimPrefix(text, bom)), &before) != nil {
			return // odd, but then there is nothing to compare with
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(result, bom)), &after); err != nil {
			t.Fatalf("the result is no notebook: %v\n%s", err, result)
		}
		want := append([]json.RawMessage{}, before.Cells...)
		switch mode {
		case "insert":
			want = append(want[:at:at], append([]json.RawMessage{after.Cells[at]}, want[at:]...)...)
		case "delete":
			want = append(want[:at:at], want[at+1:]...)
		default:
			want[at] = after.Cells[at]
		}
		if d := cmp.Diff(want, after.Cells); d != "" {
			t.Fatalf("other cells changed (-want +got):\n%s", d)
		}
	})
}
