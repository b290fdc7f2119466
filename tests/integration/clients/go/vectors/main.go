// Reads framed messages of all formats with franz-go's registry client, hamba/avro and Go's protobuf, and writes their
// values again. On standard input: a FileDescriptorSet in base64, and messages with format, file (of Protobuf), frame and
// header in base64. On standard output, for each: the value as JSON (not of Avro), and the frame that was written.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

type input struct {
	Files    []byte    `json:"files"`
	Messages []message `json:"messages"`
}

type message struct {
	Format string `json:"format"`
	File   string `json:"file"`
	Frame  []byte `json:"frame"`
	Header []byte `json:"header"`
}

type result struct {
	Value json.RawMessage `json:"value,omitempty"`
	Frame []byte          `json:"frame"`
}

var ctx = context.Background()

func try[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

func main() {
	client := try(sr.NewClient(sr.URLs(os.Getenv("REGISTRY_URL"))))
	var given input
	try(0, json.NewDecoder(os.Stdin).Decode(&given))
	written := &descriptorpb.FileDescriptorSet{}
	try(0, proto.Unmarshal(given.Files, written))
	files := try(protodesc.NewFiles(written))
	results := make([]result, 0, len(given.Messages))
	for _, each := range given.Messages {
		results = append(results, roundTrip(client, files, each))
	}
	os.Stdout.Write(try(json.Marshal(results)))
}

// roundTrip reads a message and writes its value again; the header, if there is one, names the schema by its guid.
func roundTrip(client *sr.Client, files *protoregistry.Files, given message) result {
	var header sr.ConfluentHeader
	var index []int
	var id int
	rest := given.Frame
	if given.Header != nil {
		text := hex.EncodeToString(given.Header[1:17])
		guid := fmt.Sprintf("%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
		ids := try(client.SchemaIDsByGUID(ctx, guid))
		id = ids[0].ID
		if given.Format == "PROTOBUF" {
			index, _ = indexOf(header, given.Header[17:])
		}
	} else {
		var err error
		id, rest, err = header.DecodeID(rest)
		try(0, err)
		if given.Format == "PROTOBUF" {
			index, rest = indexOf(header, rest)
		}
	}
	var found result
	var body []byte
	switch given.Format {
	case "AVRO":
		body = avroAgain(client, try(client.SchemaByID(ctx, id)), rest)
	case "JSON":
		var value any
		decoder := json.NewDecoder(bytes.NewReader(rest))
		decoder.UseNumber()
		try(0, decoder.Decode(&value))
		body = try(json.Marshal(value))
		found.Value = body
	case "PROTOBUF":
		body, found.Value = protobufAgain(files, given.File, index, rest)
	}
	if given.Header != nil {
		found.Frame = body
	} else {
		found.Frame = append(try(header.AppendEncode(nil, id, index)), body...)
	}
	return found
}

func indexOf(header sr.ConfluentHeader, data []byte) ([]int, []byte) {
	index, rest, err := header.DecodeIndex(data, 64)
	try(0, err)
	return index, rest
}

func avroAgain(client *sr.Client, schema sr.Schema, body []byte) []byte {
	cache := &avro.SchemaCache{}
	parsed := parsedAvro(client, schema, cache)
	var value any
	try(0, avro.Unmarshal(parsed, body, &value))
	return try(avro.Marshal(parsed, value))
}

func parsedAvro(client *sr.Client, schema sr.Schema, cache *avro.SchemaCache) avro.Schema {
	for _, each := range schema.References {
		held := try(client.SchemaByVersion(ctx, each.Subject, each.Version))
		parsedAvro(client, held.Schema, cache)
	}
	return try(avro.ParseWithCache(schema.Schema, "", cache))
}

func protobufAgain(files *protoregistry.Files, path string, index []int, body []byte) ([]byte, []byte) {
	file := try(files.FindFileByPath(path))
	descriptor := file.Messages().Get(index[0])
	for _, each := range index[1:] {
		descriptor = descriptor.Messages().Get(each)
	}
	value := dynamicpb.NewMessage(descriptor)
	try(0, proto.Unmarshal(body, value))
	text := try(protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(files)}.Marshal(value))
	return try(proto.MarshalOptions{Deterministic: true}.Marshal(value)), text
}
