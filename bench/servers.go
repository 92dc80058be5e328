package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// How many MCP servers are set up, and how long the first request waits for those that do
// not come up.
const (
	manyServers = 10
	startWait   = 500 * time.Millisecond
)

// playServer is the variable that makes this program an MCP server.
const playServer = "HEDDLE_BENCH_SERVER"

// serveMCP is an MCP server with one tool, or one that never answers.
func serveMCP(kind string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if kind == "silent" || json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}

// servers measures what ten MCP servers cost: those that never answer may keep the first
// request for the time that settings give them, and commands that need none pay nothing.
func (b *bench) servers() ([]row, error) {
	none, err := b.firstRequests("")
	if err != nil {
		return nil, err
	}
	silent, err := b.firstRequests("silent")
	if err != nil {
		return nil, err
	}
	quick, err := b.firstRequests("quick")
	if err != nil {
		return nil, err
	}
	late := median(silent) - median(none)
	rows := []row{
		{fmt.Sprintf("first request: %d MCP servers that never answer, later by | their limit", manyServers), ms(late), ms(startWait), float64(late) / float64(startWait), 1.1},
		{fmt.Sprintf("first request: %d MCP servers that answer, later by | that limit", manyServers), ms(median(quick) - median(none)), ms(startWait), float64(median(quick)-median(none)) / float64(startWait), 1},
	}
	for _, args := range [][]string{{"--help"}, {"tasks"}} {
		with, without, err := b.besides(args)
		if err != nil {
			return nil, err
		}
		rows = append(rows, compare(fmt.Sprintf("heddle %s: %d MCP servers | none", args[0], manyServers), with, without, 1.2))
	}
	return rows, nil
}

// firstRequests measures from the start of the process to its first request.
func (b *bench) firstRequests(kind string) ([]time.Duration, error) {
	var times []time.Duration
	for range b.runs {
		s, err := serve(0)
		if err != nil {
			return nil, err
		}
		cmd, err := b.command(s)
		if err != nil {
			return nil, err
		}
		if err := setUp(cmd, kind); err != nil {
			return nil, err
		}
		begin := time.Now()
		if _, err := timed(cmd); err != nil {
			return nil, err
		}
		times = append(times, s.stop()[0].arrived.Sub(begin))
	}
	return times, nil
}

// besides measures a command of heddle with servers set up, and without.
func (b *bench) besides(args []string) (with, without []time.Duration, err error) {
	for range b.runs {
		for _, kind := range []string{"silent", ""} {
			work, err := os.MkdirTemp(b.dir, "work")
			if err != nil {
				return nil, nil, err
			}
			cmd := exec.Command(b.heddle, args...)
			cmd.Dir, cmd.Env = work, append(os.Environ(), "HEDDLE_HOME="+filepath.Join(work, ".state"), "HOME="+work)
			if err := setUp(cmd, kind); err != nil {
				return nil, nil, err
			}
			d, err := timed(cmd)
			if err != nil {
				return nil, nil, err
			}
			if kind == "" {
				without = append(without, d)
			} else {
				with = append(with, d)
			}
		}
	}
	return with, without, nil
}

// setUp writes settings with servers of a kind, or none.
func setUp(cmd *exec.Cmd, kind string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := map[string]any{}
	for i := range manyServers {
		if kind != "" {
			servers[fmt.Sprint("s", i)] = map[string]any{"command": self, "env": map[string]string{playServer: kind}}
		}
	}
	return settle(cmd, map[string]any{"mcpServers": servers, "mcp": map[string]any{"startWaitSeconds": startWait.Seconds()}})
}

// settle writes the settings of a run.
func settle(cmd *exec.Cmd, settings map[string]any) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	home := filepath.Join(cmd.Dir, ".state")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "settings.json"), text, 0o600)
}
