package process

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"time"
)

// A keeper keeps bytes, in memory or in a file.
type keeper struct {
	Capture
	memory []byte
	file   *os.File // nil: all is in memory
	size   int64
}

// copy keeps what r returns until it ends.
func (k *keeper) copy(r io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if keepErr := k.keep(buffer[:n]); keepErr != nil {
			return keepErr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sweep keeps what is in the pipe now. On a busy machine that may still be what the
// leader wrote. There is an end to it even if somebody else writes all the time.
func (k *keeper) sweep(r *os.File) error {
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return err
	}
	return k.copy(io.LimitReader(atOnce{conn}, pipeCapacity))
}

// atOnce reads from a pipe what is in it, and ends where it would have to wait.
type atOnce struct{ pipe syscall.RawConn }

func (r atOnce) Read(b []byte) (n int, err error) {
	pollErr := r.pipe.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case pollErr != nil:
		return 0, pollErr
	case err == syscall.EAGAIN, err == nil && n == 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// keep keeps b, or as much of it as the limit allows.
func (k *keeper) keep(b []byte) error {
	var full error
	if most := k.most(); k.size+int64(len(b)) > most {
		b = b[:most-k.size]
		full = fmt.Errorf("%w of %d bytes", ErrOutputFull, most)
	}
	if k.file == nil && len(k.memory)+len(b) > k.Memory {
		if err := k.spill(); err != nil {
			return err
		}
	}
	if k.file == nil {
		k.memory = append(k.memory, b...)
		k.size += int64(len(b))
		return full
	}
	n, err := k.file.Write(b)
	k.size += int64(n)
	if err != nil {
		return fmt.Errorf("keep output: %w", err)
	}
	return full
}

// most returns the number of bytes that are kept at most.
func (k *keeper) most() int64 {
	most := int64(math.MaxInt64)
	if k.Limit > 0 {
		most = k.Limit
	}
	if k.Spill == "" {
		most = min(most, int64(k.Memory))
	}
	return most
}

// spill moves from memory to a new file, which nobody else can have prepared. If that
// fails, all stays in memory.
func (k *keeper) spill() error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW
	file, err := os.OpenFile(k.Spill, flags, 0o600)
	if err != nil {
		return fmt.Errorf("keep output that is longer than %d bytes: %w", k.Memory, err)
	}
	if _, err := file.Write(k.memory); err != nil {
		file.Close()
		return errors.Join(fmt.Errorf("keep output: %w", err), os.Remove(k.Spill))
	}
	k.file, k.memory = file, nil
	return nil
}

// finish returns what was kept, and err if the output is not complete.
func (k *keeper) finish(err error) (Output, error) {
	if k.file == nil {
		return Output{Memory: k.memory, Size: k.size}, err
	}
	if closeErr := k.file.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("keep output: %w", closeErr))
	}
	return Output{File: k.Spill, Size: k.size}, err
}
