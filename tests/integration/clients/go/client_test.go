// franz-go's registry client, all of its methods, against the registry that REGISTRY_URL names.
package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

type place struct {
	Zone int `json:"zone"`
}

func start(t *testing.T) (context.Context, *sr.Client) {
	t.Helper()
	address := os.Getenv("REGISTRY_URL")
	if address == "" {
		t.Fatal("REGISTRY_URL names the registry to test")
	}
	cl, err := sr.NewClient(sr.URLs(address))
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx, cl
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, got, wanted T) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Fatalf("got %v, wanted %v", got, wanted)
	}
}

// refused fails the test unless err is the client's error with this status and code.
func refused(t *testing.T, err error, status, code int) *sr.ResponseError {
	t.Helper()
	var refusal *sr.ResponseError
	if !errors.As(err, &refusal) {
		t.Fatalf("wanted a refusal with %d, got %v", code, err)
	}
	if refusal.StatusCode != status || refusal.ErrorCode != code {
		t.Fatalf("wanted %d %d, got %v", status, code, refusal)
	}
	return refusal
}

func uniqueName(t *testing.T, stem string) string {
	t.Helper()
	return fmt.Sprintf("%s-%x", stem, time.Now().UnixNano())
}

func record(name string, fields ...string) sr.Schema {
	return sr.Schema{Schema: fmt.Sprintf(
		`{"type":"record","name":"%s","namespace":"taxi","fields":[%s]}`, name, strings.Join(fields, ","))}
}

const (
	id   = `{"name":"id","type":"long"}`
	note = `{"name":"note","type":"string","default":""}`
	fare = `{"name":"fare","type":"double"}`
	zone = `{"name":"zone","type":"int"}`
)

func TestRegisterLookUpAndReadBack(t *testing.T) {
	ctx, cl := start(t)
	subject := uniqueName(t, "rides/eu value")
	first, err := cl.CreateSchema(ctx, subject, record("Ride", id))
	must(t, err)
	equal(t, first.Version, 1)
	equal(t, first.Subject, subject)
	second, err := cl.CreateSchema(sr.WithParams(ctx, sr.Normalize), subject, record("Ride", id, note))
	must(t, err)
	equal(t, second.Version, 2)
	again, err := cl.RegisterSchema(ctx, subject, record("Ride", id), -1, -1)
	must(t, err)
	equal(t, again, first.ID)

	byID, err := cl.SchemaByID(ctx, first.ID)
	must(t, err)
	equal(t, byID.Schema, first.Schema.Schema)
	equal(t, byID.Type, sr.TypeAvro)
	byGUID, err := cl.SchemaByGUID(ctx, second.GUID)
	must(t, err)
	equal(t, byGUID.Schema, second.Schema)
	ids, err := cl.SchemaIDsByGUID(ctx, second.GUID)
	must(t, err)
	if !slices.Contains(ids, sr.ContextID{Context: ".", ID: second.ID}) {
		t.Fatal(ids)
	}
	text, err := cl.SchemaTextByID(ctx, first.ID)
	must(t, err)
	equal(t, text, first.Schema.Schema)
	text, err = cl.SchemaTextByVersion(ctx, subject, -1)
	must(t, err)
	equal(t, text, second.Schema.Schema)
	latest, err := cl.SchemaByVersion(ctx, subject, -1)
	must(t, err)
	equal(t, latest, second)
	versions, err := cl.SubjectVersions(ctx, subject)
	must(t, err)
	equal(t, versions, []int{1, 2})
	schemas, err := cl.Schemas(ctx, subject)
	must(t, err)
	equal(t, schemas, []sr.SubjectSchema{first, second})
	found, err := cl.LookupSchema(ctx, subject, record("Ride", id, note))
	must(t, err)
	equal(t, found, second)
	owners, err := cl.SubjectsByID(ctx, second.ID)
	must(t, err)
	if !slices.Contains(owners, subject) {
		t.Fatal(owners)
	}
	uses, err := cl.SchemaVersionsByID(ctx, second.ID)
	must(t, err)
	if !slices.Contains(uses, sr.SubjectVersion{Subject: subject, Version: 2}) {
		t.Fatal(uses)
	}
	usages, err := cl.SchemaUsagesByID(ctx, second.ID)
	must(t, err)
	if !slices.ContainsFunc(usages, func(each sr.SubjectSchema) bool { return each.Subject == subject }) {
		t.Fatal(usages)
	}
}

func TestLists(t *testing.T) {
	ctx, cl := start(t)
	stem := uniqueName(t, "list")
	for _, letter := range []string{"a", "b", "c"} {
		_, err := cl.CreateSchema(ctx, stem+letter, record("Ride", id))
		must(t, err)
	}
	_, err := cl.CreateSchema(ctx, stem+"a", record("Ride", id, note))
	must(t, err)
	_, err = cl.DeleteSubject(ctx, stem+"c", sr.SoftDelete)
	must(t, err)
	list := func(params ...sr.Param) []string {
		subjects, err := cl.Subjects(sr.WithParams(ctx, append(params, sr.SubjectPrefix(stem))...))
		must(t, err)
		return subjects
	}
	equal(t, list(), []string{stem + "a", stem + "b"})
	equal(t, list(sr.ShowDeleted), []string{stem + "a", stem + "b", stem + "c"})
	equal(t, list(sr.DeletedOnly), []string{stem + "c"})
	equal(t, list(sr.Offset(1), sr.Limit(1)), []string{stem + "b"})
	all, err := cl.AllSchemas(sr.WithParams(ctx, sr.SubjectPrefix(stem)))
	must(t, err)
	equal(t, len(all), 3)
	latest, err := cl.AllSchemas(sr.WithParams(ctx, sr.SubjectPrefix(stem), sr.LatestOnly, sr.ShowDeleted))
	must(t, err)
	equal(t, len(latest), 3)
	types, err := cl.SupportedTypes(ctx)
	must(t, err)
	equal(t, types, []sr.SchemaType{sr.TypeAvro, sr.TypeProtobuf, sr.TypeJSON})
	var maximum struct{ MaxID int }
	must(t, cl.Do(sr.WithParams(ctx, sr.FetchMaxID), "GET", fmt.Sprintf("/schemas/ids/%d", all[0].ID), nil, &maximum))
	if maximum.MaxID < all[0].ID {
		t.Fatal(maximum)
	}
}

func TestSoftThenHardDelete(t *testing.T) {
	ctx, cl := start(t)
	subject := uniqueName(t, "rides")
	_, err := cl.CreateSchema(ctx, subject, record("Ride", id))
	must(t, err)
	_, err = cl.CreateSchema(ctx, subject, record("Ride", id, note))
	must(t, err)
	refused(t, cl.DeleteSchema(ctx, subject, 2, sr.HardDelete), 404, 40407)
	must(t, cl.DeleteSchema(ctx, subject, -1, sr.SoftDelete))
	refused(t, cl.DeleteSchema(ctx, subject, 2, sr.SoftDelete), 404, 40406)
	_, err = cl.SchemaByVersion(ctx, subject, 2)
	if refused(t, err, 404, 40402).SchemaError() != sr.ErrVersionNotFound {
		t.Fatal(err)
	}
	deleted, err := cl.SchemaByVersion(sr.WithParams(ctx, sr.ShowDeleted), subject, 2)
	must(t, err)
	equal(t, deleted.Version, 2)
	_, err = cl.LookupSchema(ctx, subject, record("Ride", id, note))
	refused(t, err, 404, 40403)
	must(t, cl.DeleteSchema(ctx, subject, 2, sr.HardDelete))
	_, err = cl.DeleteSubject(ctx, subject, sr.HardDelete)
	refused(t, err, 404, 40405)
	versions, err := cl.DeleteSubject(ctx, subject, sr.SoftDelete)
	must(t, err)
	equal(t, versions, []int{1})
	_, err = cl.DeleteSubject(ctx, subject, sr.SoftDelete)
	refused(t, err, 404, 40404)
	versions, err = cl.DeleteSubject(ctx, subject, sr.HardDelete)
	must(t, err)
	equal(t, versions, []int{1})
	_, err = cl.SubjectVersions(ctx, subject)
	if refused(t, err, 404, 40401).SchemaError() != sr.ErrSubjectNotFound {
		t.Fatal(err)
	}
}

func TestReferences(t *testing.T) {
	ctx, cl := start(t)
	target, user := uniqueName(t, "place"), uniqueName(t, "ride")
	_, err := cl.CreateSchema(ctx, target, record("Place", zone))
	must(t, err)
	schema := record("Ride", `{"name":"from","type":"taxi.Place"}`)
	schema.References = []sr.SchemaReference{{Name: "taxi.Place", Subject: target, Version: 1}}
	stored, err := cl.CreateSchema(ctx, user, schema)
	must(t, err)
	equal(t, stored.References, schema.References)
	referrers, err := cl.SchemaReferences(ctx, target, -1)
	must(t, err)
	equal(t, referrers, []sr.SubjectSchema{stored})
	resolved, err := cl.SchemaTextByID(sr.WithParams(ctx, sr.Format("resolved")), stored.ID)
	must(t, err)
	if !strings.Contains(resolved, "zone") {
		t.Fatal(resolved)
	}
	_, err = cl.DeleteSubject(ctx, target, sr.SoftDelete)
	if refused(t, err, 422, 42206).SchemaError() != sr.ErrReferenceExists {
		t.Fatal(err)
	}
}

func TestCompatibilityIsSetTestedAndEnforced(t *testing.T) {
	ctx, cl := start(t)
	subject := uniqueName(t, "rides")
	refused(t, cl.Compatibility(ctx, subject)[0].Err, 404, 40408)
	effective := cl.Compatibility(sr.WithParams(ctx, sr.DefaultToGlobal), subject, sr.GlobalSubject)
	for _, each := range effective {
		must(t, each.Err)
		equal(t, each.Level, sr.CompatBackward)
	}
	_, err := cl.CreateSchema(ctx, subject, record("Ride", id))
	must(t, err)
	broken := record("Ride", id, fare)
	for _, version := range []int{-2, -1, 1} {
		verdict, err := cl.CheckCompatibility(sr.WithParams(ctx, sr.Verbose), subject, version, broken)
		must(t, err)
		if verdict.Is || !strings.Contains(strings.Join(verdict.Messages, " "), "READER_FIELD_MISSING_DEFAULT_VALUE") {
			t.Fatal(verdict)
		}
		verdict, err = cl.CheckCompatibility(ctx, subject, version, record("Ride", id, note))
		must(t, err)
		equal(t, verdict, sr.CheckCompatibilityResult{Is: true})
	}
	_, err = cl.CreateSchema(ctx, subject, broken)
	refused(t, err, 409, 40901)

	metadata := &sr.SchemaMetadata{Properties: map[string]string{"team": "x"}}
	set := cl.SetCompatibility(ctx, sr.SetCompatibility{
		Level: sr.CompatNone, Group: "major", Normalize: true, DefaultMetadata: metadata}, subject)
	must(t, set[0].Err)
	got := cl.Compatibility(ctx, subject)[0]
	must(t, got.Err)
	equal(t, got, sr.CompatibilityResult{
		Subject: subject, Level: sr.CompatNone, Group: "major", Normalize: true, DefaultMetadata: metadata})
	stored, err := cl.CreateSchema(ctx, subject, broken)
	must(t, err)
	equal(t, stored.SchemaMetadata, metadata)
	must(t, cl.ResetCompatibility(ctx, subject)[0].Err)
	refused(t, cl.ResetCompatibility(ctx, subject)[0].Err, 404, 40401)
	must(t, cl.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFull})[0].Err)
	equal(t, cl.Compatibility(ctx)[0].Level, sr.CompatFull)
	must(t, cl.ResetCompatibility(ctx)[0].Err)
	equal(t, cl.Compatibility(ctx)[0].Level, sr.CompatBackward)
}

func TestModesAndImport(t *testing.T) {
	ctx, cl := start(t)
	subject := uniqueName(t, "rides")
	refused(t, cl.Mode(ctx, subject)[0].Err, 404, 40409)
	equal(t, cl.Mode(sr.WithParams(ctx, sr.DefaultToGlobal), subject)[0].Mode, sr.ModeReadWrite)
	equal(t, cl.Mode(ctx)[0].Mode, sr.ModeReadWrite)
	_, err := cl.CreateSchemaWithIDAndVersion(ctx, subject, record("Imported", id), 900001, 3)
	if refused(t, err, 422, 42205).SchemaError() != sr.ErrOperationNotPermitted {
		t.Fatal(err)
	}
	must(t, cl.SetMode(ctx, sr.ModeImport, subject)[0].Err)
	equal(t, cl.Mode(ctx, subject)[0].Mode, sr.ModeImport)
	imported, err := cl.CreateSchemaWithIDAndVersion(ctx, subject, record("Imported", id), 900001, 3)
	must(t, err)
	equal(t, [2]int{imported.ID, imported.Version}, [2]int{900001, 3})
	must(t, cl.SetMode(ctx, sr.ModeReadOnly, subject)[0].Err)
	_, err = cl.CreateSchema(ctx, subject, record("Imported", id, note))
	refused(t, err, 422, 42205)
	refused(t, cl.SetMode(ctx, sr.ModeImport, subject)[0].Err, 422, 42205)
	must(t, cl.SetMode(sr.WithParams(ctx, sr.Force), sr.ModeImport, subject)[0].Err)
	must(t, cl.ResetMode(ctx, subject)[0].Err)
	refused(t, cl.ResetMode(ctx, subject)[0].Err, 404, 40401)
	must(t, cl.SetMode(ctx, sr.ModeReadWrite)[0].Err)
	must(t, cl.ResetMode(ctx)[0].Err)
}

func TestContexts(t *testing.T) {
	ctx, cl := start(t)
	name := "." + strings.ReplaceAll(uniqueName(t, "ctx"), "-", "")
	inside := sr.InContext(ctx, name)
	stored, err := cl.CreateSchema(inside, "rides", record("Ride", id))
	must(t, err)
	equal(t, [2]int{stored.ID, stored.Version}, [2]int{1, 1})
	subjects, err := cl.Subjects(inside)
	must(t, err)
	equal(t, subjects, []string{":" + name + ":rides"})
	contexts, err := cl.Contexts(sr.WithParams(ctx, sr.ContextPrefix(name)))
	must(t, err)
	equal(t, contexts, []string{name})
	if err := cl.DeleteContext(ctx, name); refused(t, err, 422, 42211).SchemaError() != sr.ErrContextNotEmpty {
		t.Fatal(err)
	}
	scoped, err := sr.NewClient(append(cl.Opts(), sr.DefaultSchemaContext(name))...)
	must(t, err)
	for _, how := range []sr.DeleteHow{sr.SoftDelete, sr.HardDelete} {
		_, err = scoped.DeleteSubject(ctx, "rides", how)
		must(t, err)
	}
	must(t, cl.DeleteContext(ctx, name))
	contexts, err = cl.Contexts(sr.WithParams(ctx, sr.ContextPrefix(name)))
	must(t, err)
	equal(t, contexts, []string{})
}

func TestErrors(t *testing.T) {
	ctx, cl := start(t)
	subject := uniqueName(t, "rides")
	_, err := cl.CreateSchema(ctx, subject, sr.Schema{Schema: "{"})
	if refused(t, err, 422, 42201).SchemaError() != sr.ErrInvalidSchema {
		t.Fatal(err)
	}
	_, err = cl.SchemaByID(ctx, 2147483647)
	if refused(t, err, 404, 40403).SchemaError() != sr.ErrSchemaNotFound {
		t.Fatal(err)
	}
	_, err = cl.SchemaByVersion(ctx, subject, 0)
	if refused(t, err, 422, 42202).SchemaError() != sr.ErrInvalidVersion {
		t.Fatal(err)
	}
	_, err = cl.LookupSchema(ctx, subject, record("Ride", id))
	refused(t, err, 404, 40401)
	for query, code := range map[string]int{"limit=x": 404, "offset=y": 404} {
		values, _ := url.ParseQuery(query)
		_, err = cl.Subjects(sr.WithParams(ctx, sr.RawParams(values)))
		refused(t, err, 404, code)
	}
	twice := []sr.SchemaRule{{Name: "r", Type: "CEL"}, {Name: "r", Type: "CEL"}}
	schema := record("Ride", id)
	schema.SchemaRuleSet = &sr.SchemaRuleSet{DomainRules: twice}
	_, err = cl.CreateSchema(ctx, subject, schema)
	if refused(t, err, 422, 42210).SchemaError() != sr.ErrInvalidRuleset {
		t.Fatal(err)
	}
}

func TestRuleSetsAndOtherTypesRoundTrip(t *testing.T) {
	ctx, cl := start(t)
	schema := sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object","properties":{"id":{"type":"integer"}}}`,
		SchemaMetadata: &sr.SchemaMetadata{Tags: map[string][]string{"$.id": {"PII"}}, Properties: map[string]string{"a": "b"}, Sensitive: []string{"a"}},
		SchemaRuleSet: &sr.SchemaRuleSet{DomainRules: []sr.SchemaRule{{
			Name: "r1", Doc: "why", Kind: sr.SchemaRuleKindCondition, Mode: sr.SchemaRuleModeWrite, Type: "CEL",
			Tags: []string{"PII"}, Params: map[string]string{"k": "v"}, Expr: "true", OnSuccess: "NONE", OnFailure: "ERROR"}}}}
	stored, err := cl.CreateSchema(ctx, uniqueName(t, "json"), schema)
	must(t, err)
	equal(t, stored.Schema, schema)
	proto := sr.Schema{Type: sr.TypeProtobuf, Schema: "syntax = \"proto3\";\npackage taxi;\n\nmessage Ride {\n  int64 id = 1;\n}\n"}
	stored, err = cl.CreateSchema(ctx, uniqueName(t, "proto"), proto)
	must(t, err)
	equal(t, stored.Schema, proto)
}

func TestSerdeWithTheIDOfTheRegistry(t *testing.T) {
	ctx, cl := start(t)
	stored, err := cl.CreateSchema(ctx, uniqueName(t, "place"), sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object"}`})
	must(t, err)
	serde := sr.NewSerde()
	serde.Register(stored.ID, place{}, sr.EncodeFn(json.Marshal), sr.DecodeFn(json.Unmarshal))
	framed := serde.MustEncode(place{Zone: 4})
	number, _, err := serde.DecodeID(framed)
	must(t, err)
	equal(t, number, stored.ID)
	var read place
	must(t, serde.Decode(framed, &read))
	equal(t, read, place{Zone: 4})
}

func TestNoMethodWasLeftOut(t *testing.T) {
	source, err := os.ReadFile("client_test.go")
	must(t, err)
	ofTheOptions := []string{"OptValue", "OptValues"}
	methods := reflect.TypeFor[*sr.Client]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if !slices.Contains(ofTheOptions, name) && !strings.Contains(string(source), "cl."+name+"(") {
			t.Errorf("%s is not called", name)
		}
	}
}
