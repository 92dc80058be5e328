package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"heddle/internal/tool"
)

// refusal is a sentence for the model: why a call did nothing, and what to do
// next. It travels as an error inside this package and ends as a failed result.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// failed is the result of a call that err ended.
func failed(err error) tool.Result { return tool.Failf("%s", err) }

// decode reads the input of a call into T and names the field that is wrong.
func decode[T any](c tool.Call) (T, error) {
	v, err := tool.Decode[T](c)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return v, refuse("%s: %s must be %s, not %s. Nothing was done; call again with the right type.",
			c.Name, wrong.Field, kindName(wrong.Type), wrong.Value)
	}
	return v, err
}

// kindName is the JSON word for a Go type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// wrongType reports a value that is not what its field holds. The JSON package
// adds the name of the field.
func wrongType[T any](data []byte) error {
	return &json.UnmarshalTypeError{Value: clipMiddle(string(data), 60), Type: reflect.TypeFor[T]()}
}

// number is a whole number that a model may also have written as text.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	s := unquote(data)
	if s == "" || s == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return wrongType[int](data)
	}
	*n = number(f)
	return nil
}

// flag is a truth value that a model may also have written as text.
type flag bool

func (f *flag) UnmarshalJSON(data []byte) error {
	switch strings.ToLower(unquote(data)) {
	case "", "null", "false", "no", "0":
		*f = false
	case "true", "yes", "1":
		*f = true
	default:
		return wrongType[bool](data)
	}
	return nil
}

// list is a list that a model may also have written as text holding JSON.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(data []byte) error {
	var inner string
	if json.Unmarshal(data, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "[") {
		data = []byte(inner)
	}
	return json.Unmarshal(data, (*[]T)(l))
}

// unquote returns what a scalar says, whether or not it is written as text.
func unquote(data []byte) string {
	s := string(data)
	if len(s) >= 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	return strings.TrimSpace(s)
}

// clipMiddle shortens s to about n characters for use in a sentence.
func clipMiddle(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n/2]) + "…" + string(r[len(r)-n/2:])
}

// plural returns "1 line" or "3 lines".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
