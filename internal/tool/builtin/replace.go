package builtin

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// replace gives the file at path, which is no symlink, new content. Readers see
// the old content or the new, and an error leaves the old. info is that of the
// existing file, nil if there is none; its mode and its hard links are kept.
func replace(path string, info fs.FileInfo, old, new string) error {
	if info == nil {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return rename(path, 0o666, nil, new)
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	if stat != nil && stat.Nlink > 1 {
		return overwrite(path, old, new)
	}
	err := rename(path, 0o600, info, new)
	if errors.Is(err, fs.ErrPermission) {
		// The folder may be closed although the file is not.
		return overwrite(path, old, new)
	}
	return err
}

// rename writes content to a temporary file beside path and moves it there. mode
// applies, less the umask, unless like is given: then its mode and owner do.
func rename(path string, mode fs.FileMode, like fs.FileInfo, content string) (err error) {
	if like != nil {
		// A rename would succeed where the file itself is read-only.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		f.Close()
	}
	temp := filepath.Join(filepath.Dir(path), ".heddle-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(temp)
		}
	}()
	if like != nil {
		if err := dress(f, like); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(f, content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil { // a full disk may only show here
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// dress gives f the owner and the mode of like.
func dress(f *os.File, like fs.FileInfo) error {
	if want, ok := like.Sys().(*syscall.Stat_t); ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		have, ok := info.Sys().(*syscall.Stat_t)
		if ok && (have.Uid != want.Uid || have.Gid != want.Gid) {
			if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
				return err // EPERM: the caller overwrites instead
			}
		}
	}
	return f.Chmod(like.Mode())
}

// overwrite puts new content into the file itself, and the old back if that fails.
func overwrite(path, old, new string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	if err := fill(f, new); err != nil {
		return errors.Join(err, fill(f, old), f.Close())
	}
	return f.Close()
}

func fill(f *os.File, content string) error {
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	return f.Sync()
}
