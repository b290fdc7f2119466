// franz-go's registry client and every way of proving oneself: right, wrong, and ended while the client is used. Tokens that
// end are renewed by the program, through PreReq: the client has no means of its own.
package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

func guarded(t *testing.T, options ...sr.ClientOpt) *sr.Client {
	t.Helper()
	cl, err := sr.NewClient(append([]sr.ClientOpt{sr.URLs(os.Getenv("GUARDED_URL"))}, options...)...)
	must(t, err)
	return cl
}

func user(t *testing.T, name, password string) *sr.Client {
	t.Helper()
	return guarded(t, sr.BasicAuth(name, password))
}

func bearer(t *testing.T, token string) *sr.Client {
	t.Helper()
	return guarded(t, sr.BearerToken(token))
}

// sent returns the members of the answer to a request with a login such as name:password.
func sent(t *testing.T, method, url, kind, login, body string) map[string]any {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	must(t, err)
	name, password, _ := strings.Cut(login, ":")
	request.SetBasicAuth(name, password)
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, url, answer.StatusCode, text)
	}
	members := map[string]any{}
	if len(text) > 0 {
		must(t, json.Unmarshal(text, &members))
	}
	return members
}

func administer(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	url := os.Getenv("GUARDED_URL") + "/auth/v1/" + path
	return sent(t, method, url, "application/json", os.Getenv("GUARDED_ADMIN"), body)
}

func newUser(t *testing.T) string {
	t.Helper()
	name := uniqueName(t, "caller")
	administer(t, "PUT", "users/"+name, `{"password": "pass word"}`)
	return name
}

func newJWT(t *testing.T, client string) string {
	t.Helper()
	form := "grant_type=client_credentials&scope=read"
	made := sent(t, "POST", os.Getenv("TOKEN_URL"), "application/x-www-form-urlencoded", client+":a-secret", form)
	return made["access_token"].(string)
}

func accepted(t *testing.T, cl *sr.Client) {
	t.Helper()
	_, err := cl.Subjects(t.Context())
	must(t, err)
}

func notAccepted(t *testing.T, cl *sr.Client) {
	t.Helper()
	_, err := cl.Subjects(t.Context())
	refused(t, err, 401, 401)
}

func TestPasswordUntilTheUserIsDisabled(t *testing.T) {
	name := newUser(t)
	cl := user(t, name, "pass word")
	_, err := cl.CreateSchema(t.Context(), uniqueName(t, "rides"), record("Ride", id))
	must(t, err)
	for _, result := range cl.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatNone}) {
		refused(t, result.Err, 403, 40301)
	}
	notAccepted(t, user(t, name, "password"))
	notAccepted(t, guarded(t))
	administer(t, "PUT", "users/"+name, `{"disabled": true}`)
	notAccepted(t, cl)
}

func TestAPITokenUntilItIsRevoked(t *testing.T) {
	logins := []func(string) *sr.Client{
		func(text string) *sr.Client { return user(t, "token", text) },
		func(text string) *sr.Client { return bearer(t, text) },
	}
	for _, login := range logins {
		made := administer(t, "POST", "tokens", fmt.Sprintf(`{"owner": "User:%s", "name": "a test"}`, newUser(t)))
		token := made["token"].(string)
		cl := login(token)
		accepted(t, cl)
		last := "a"
		if strings.HasSuffix(token, last) {
			last = "b"
		}
		notAccepted(t, login(token[:len(token)-1]+last))
		administer(t, "DELETE", "tokens/"+made["id"].(string), "")
		notAccepted(t, cl)
	}
}

func TestJWTUntilItEnds(t *testing.T) {
	token, until := "", time.Time{}
	renewed := guarded(t, sr.PreReq(func(request *http.Request) error {
		if time.Now().After(until) {
			until = time.Now().Add(time.Second)
			token = newJWT(t, "brief")
		}
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	accepted(t, renewed)
	cl := bearer(t, newJWT(t, "brief"))
	accepted(t, cl)
	other := newJWT(t, "ci")
	end := strings.LastIndex(other, ".") + 1
	signature := []byte(other[end:])
	signature[0], signature[1] = signature[1]^1, signature[0]^1
	notAccepted(t, bearer(t, other[:end]+string(signature)))
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := cl.Subjects(t.Context())
		if err != nil {
			refused(t, err, 401, 401)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the token does not end")
		}
	}
	accepted(t, renewed) // its first token has ended, too: it is older
}

// certified returns a client that trusts an authority and shows a certificate; without a name it has none.
func certified(t *testing.T, authority, name string, options ...sr.ClientOpt) *sr.Client {
	t.Helper()
	file := func(name string) string { return filepath.Join(os.Getenv("CERTIFICATES"), name) }
	pem, err := os.ReadFile(file(authority + ".pem"))
	must(t, err)
	settings := &tls.Config{RootCAs: x509.NewCertPool()}
	settings.RootCAs.AppendCertsFromPEM(pem)
	if name != "" {
		own, err := tls.LoadX509KeyPair(file(name+".crt"), file(name+".key"))
		must(t, err)
		settings.Certificates = []tls.Certificate{own}
	}
	all := append([]sr.ClientOpt{sr.URLs(os.Getenv("CERTIFIED_URL")), sr.DialTLSConfig(settings)}, options...)
	cl, err := sr.NewClient(all...)
	must(t, err)
	return cl
}

func TestCertificate(t *testing.T) {
	cl := certified(t, "authority", "caller")
	_, err := cl.CreateSchema(t.Context(), uniqueName(t, "rides"), record("Ride", id))
	must(t, err)
	for _, result := range cl.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatNone}) {
		refused(t, result.Err, 403, 40301)
	}
	notAccepted(t, certified(t, "authority", "nobody"))
	notAccepted(t, certified(t, "authority", "caller", sr.BasicAuth("alice", "wrong"))) // the header is the identity
	for _, name := range []string{"stranger", "expired", "revoked", ""} {
		hasNoConnection(t, certified(t, "authority", name), name)
	}
	hasNoConnection(t, certified(t, "another-authority", "caller"), "a server that is not trusted")
}

func hasNoConnection(t *testing.T, cl *sr.Client, why string) {
	t.Helper()
	_, err := cl.Subjects(t.Context())
	var answered *sr.ResponseError
	if err == nil || errors.As(err, &answered) {
		t.Fatalf("%s: wanted no connection, got %v", why, err)
	}
}
