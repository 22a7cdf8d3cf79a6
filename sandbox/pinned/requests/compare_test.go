package requests

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// patience is for one request, or one watch.
const patience = 20 * time.Second

// answer is what is compared of one response.
type answer struct {
	Code int
	Type string
	Body any
}

// play sends a sequence to one server.
func (s *side) play(q sequence) ([]answer, map[string][]any, error) {
	steps := append([]step{{"POST", "/api/v1/namespaces", jsonType, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}"}}`, ""}}, q.Steps...)
	var answers []answer
	for _, r := range steps {
		a, err := s.send(r)
		if err != nil {
			return nil, nil, err
		}
		answers = append(answers, a)
		if s.begin == "" {
			s.begin = s.versions["namespaces/"+s.namespace][0]
		}
	}
	watches := map[string][]any{}
	for _, w := range q.Watches {
		path, _, _ := strings.Cut(w, "?")
		created, err := s.send(sentinel(path))
		if err != nil {
			return nil, nil, err
		}
		if created.Code != http.StatusCreated { // the Namespace is terminating
			watches[w] = []any{created.Code}
			continue
		}
		events, err := s.watch(w)
		if err != nil {
			return nil, nil, err
		}
		watches[w] = events
	}
	return answers, watches, nil
}

func (s *side) request(ctx context.Context, r step) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, s.base+s.fill(r.Path), strings.NewReader(s.fill(r.Body)))
	if err != nil {
		return nil, err
	}
	if r.Type != "" {
		request.Header.Set("Content-Type", r.Type)
	}
	request.Header.Set("Accept", cmp.Or(r.Accept, jsonType))
	return s.client.Do(request)
}

func (s *side) send(r step) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response, err := s.request(ctx, r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	body := decode(data)
	s.learn(r.Path, body)
	return answer{response.StatusCode, response.Header.Get("Content-Type"), s.normal(body, "")}, nil
}

// end is the name of the object after which a watch is not read any further.
const end = "zz-end"

// watch reads a watch until the object that marks its end has come, or until it fails.
func (s *side) watch(path string) ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response, err := s.request(ctx, step{Method: "GET", Path: path})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	events := []any{response.StatusCode}
	streaming := strings.Contains(path, "sendInitialEvents=true")
	ended, initial := false, !streaming
	for lines := bufio.NewReader(response.Body); !ended || !initial; {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			event, _ := decode(line).(map[string]any)
			o, _ := event["object"].(map[string]any)
			m, _ := o["metadata"].(map[string]any)
			ended = ended || m["name"] == end
			if event["type"] == "BOOKMARK" {
				initial = true
				m = map[string]any{"annotations": m["annotations"], "resourceVersion": "LIST"}
				event["object"] = map[string]any{"kind": o["kind"], "apiVersion": o["apiVersion"], "metadata": m}
			}
			if o["kind"] == "Status" {
				ended, initial = true, true
			}
			events = append(events, s.normal(any(event), ""))
		}
		if err == io.EOF {
			return append(events, "EOF"), nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the watch %s after %v: %w", path, events, err)
		}
	}
	return events, nil
}

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	generated = regexp.MustCompile(`\bgen-[a-z0-9]{5}\b`)
	version   = regexp.MustCompile(`(?:precondition|record) \((\d+)\)`)
)

// normal replaces what may differ: UIDs, times, versions, by the order in which they came.
func (s *side) normal(value any, key string) any {
	switch value := value.(type) {
	case map[string]any:
		if _, list := value["items"]; list && key == "" {
			if m, ok := value["metadata"].(map[string]any); ok {
				m["resourceVersion"] = "LIST"
			}
		}
		delete(value, "managedFields")
		delete(value, "storageVersionHash")
		keys := make([]string, 0, len(value))
		for k := range value {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			value[k] = s.normal(value[k], k)
		}
	case []any:
		if key == "causes" { // the strategies of built-in kinds repeat what is checked for all
			value = unique(value)
		}
		for i := range value {
			value[i] = s.normal(value[i], key)
		}
		return value
	case string:
		return s.normalText(value, key)
	}
	return value
}

func unique(values []any) (all []any) {
	for _, v := range values {
		if !slices.ContainsFunc(all, func(w any) bool { return gocmp.Equal(v, w) }) {
			all = append(all, v)
		}
	}
	return all
}

func (s *side) normalText(text, key string) string {
	switch {
	case moment.MatchString(text):
		return "TIME"
	case key == "continue":
		return "CONTINUE"
	case key == "resourceVersion" && text != "LIST":
		return place("rv", &s.seenVersions, text)
	}
	for _, a := range accepted {
		text = a.pattern.ReplaceAllString(text, a.with)
	}
	text = generated.ReplaceAllString(text, "gen-*")
	text = uuid.ReplaceAllStringFunc(text, func(uid string) string {
		if strings.HasPrefix(uid, "00000000-") {
			return uid
		}
		return place("uid", &s.seenUIDs, uid)
	})
	if key == "message" || key == "reason" {
		for _, found := range version.FindAllStringSubmatch(text, -1) {
			text = strings.Replace(text, "("+found[1]+")", "("+place("rv", &s.seenVersions, found[1])+")", 1)
		}
	}
	return text
}

func place(prefix string, seen *[]string, value string) string {
	i := slices.Index(*seen, value)
	if i < 0 {
		i = len(*seen)
		*seen = append(*seen, value)
	}
	return fmt.Sprint(prefix, i)
}

// order is the order of the versions that were seen.
func (s *side) order() []int {
	versions := make([]int, len(s.seenVersions))
	for i, v := range s.seenVersions {
		versions[i], _ = strconv.Atoi(v)
	}
	ranks := make([]int, len(versions))
	for i, v := range versions {
		for _, w := range versions {
			if w < v {
				ranks[i]++
			}
		}
	}
	return ranks
}

// differences plays a sequence on both servers and says where they differ.
func differences(real, simulated *side, q sequence) (string, error) {
	wantAnswers, wantWatches, err := real.play(q)
	if err != nil {
		return "", err
	}
	gotAnswers, gotWatches, err := simulated.play(q)
	if err != nil {
		return "", fmt.Errorf("simulated: %w", err)
	}
	steps := append([]step{{}}, q.Steps...)
	for i := range wantAnswers {
		if d := gocmp.Diff(wantAnswers[i], gotAnswers[i]); d != "" {
			return fmt.Sprintf("step %d, %s %s (-real +simulated):\n%s", i-1, steps[i].Method, steps[i].Path, d), nil
		}
	}
	if d := gocmp.Diff(wantWatches, gotWatches); d != "" {
		return fmt.Sprintf("watches (-real +simulated):\n%s", d), nil
	}
	if d := gocmp.Diff(real.order(), simulated.order()); d != "" {
		return fmt.Sprintf("order of versions (-real +simulated):\n%s", d), nil
	}
	return "", nil
}
