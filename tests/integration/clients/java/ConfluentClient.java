import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.ParsedSchema;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.avro.AvroSchema;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.SchemaMetadata;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.RestService;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.Config;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.Metadata;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;

/**
 * Confluent's own Java client, as Apache Flink ships it under another package name, against the registry in args[0], and
 * against one that demands credentials, which the environment names.
 */
public class ConfluentClient {
    private static final String ID = "{\"name\":\"id\",\"type\":\"long\"}";
    private static final String NOTE = "{\"name\":\"note\",\"type\":\"string\",\"default\":\"\"}";
    private static final String FARE = "{\"name\":\"fare\",\"type\":\"double\"}";
    private static String url;

    interface Story {
        void tell() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        url = args[0];
        Map<String, Story> stories = new java.util.LinkedHashMap<>();
        stories.put("register, look up, read back", ConfluentClient::registerAndRead);
        stories.put("delete", ConfluentClient::delete);
        stories.put("compatibility", ConfluentClient::compatibility);
        stories.put("config and mode", ConfluentClient::configAndMode);
        stories.put("references and metadata", ConfluentClient::referencesAndMetadata);
        stories.put("contexts", ConfluentClient::contexts);
        stories.put("the service below the client", ConfluentClient::service);
        stories.put("a password, until the user is disabled", ConfluentClient::password);
        stories.put("an API token, until it is revoked", ConfluentClient::apiToken);
        stories.put("a JWT, until it ends; OAUTHBEARER gets new ones", ConfluentClient::jwt);
        stories.put("a certificate: right, wrong, expired, revoked", ConfluentClient::certificate);
        for (Map.Entry<String, Story> each : stories.entrySet()) {
            each.getValue().tell();
            System.out.println("passed: " + each.getKey());
        }
    }

    private static void registerAndRead() throws Exception {
        String subject = unique("rides/eu value");
        int first = client().register(subject, record(ID));
        int second = client().registerWithResponse(subject, record(ID, NOTE), true).getId();
        equal(client().register(subject, record(ID)), first);
        equal(client().register(subject, record(ID), true), first);
        equal(client().getId(subject, record(ID, NOTE)), second);
        equal(client().getId(subject, record(ID, NOTE), true), second);
        equal(client().getSchemaById(first), record(ID));
        equal(client().getSchemaBySubjectAndId(subject, second), record(ID, NOTE));
        equal(client().getSchemas(subject, false, true), List.of(record(ID, NOTE)));
        isIn(subject, client().getAllSubjectsById(first));
        equal(client().getAllVersionsById(second).stream().anyMatch(each -> each.getSubject().equals(subject)), true);
        equal(client().getByVersion(subject, 2, false).getId(), second);
        SchemaMetadata latest = client().getLatestSchemaMetadata(subject);
        equal(List.of(latest.getId(), latest.getVersion(), latest.getSchemaType()), List.of(second, 2, "AVRO"));
        equal(client().getSchemaMetadata(subject, 1).getSchema(), record(ID).canonicalString());
        equal(client().getVersion(subject, record(ID)), 1);
        equal(client().getVersion(subject, record(ID, NOTE), true), 2);
        equal(client().getAllVersions(subject), List.of(1, 2));
        isIn(subject, client().getAllSubjects());
        equal(client().getAllSubjectsByPrefix(subject), List.of(subject));
        equal(client().parseSchema("AVRO", record(ID).canonicalString(), List.of()).isPresent(), true);
        refused(404, 40403, () -> client().getSchemaById(2147483647));
        refused(404, 40403, () -> client().getId(subject, record(FARE)));
        refused(404, 40402, () -> client().getSchemaMetadata(subject, 9));
        refused(404, 40401, () -> client().getLatestSchemaMetadata(unique("none")));
    }

    private static void delete() throws Exception {
        String subject = unique("rides");
        client().register(subject, record(ID));
        client().register(subject, record(ID, NOTE));
        refused(404, 40407, () -> client().deleteSchemaVersion(subject, "2", true));
        equal(client().deleteSchemaVersion(subject, "2"), 2);
        refused(404, 40406, () -> client().deleteSchemaVersion(subject, "2"));
        equal(client().getAllVersions(subject, true), List.of(1, 2));
        equal(client().getSchemaMetadata(subject, 2, true).getVersion(), 2);
        equal(client().deleteSchemaVersion(subject, "2", true), 2);
        equal(client().deleteSubject(subject), List.of(1));
        isIn(subject, client().getAllSubjects(true));
        refused(404, 40404, () -> client().deleteSubject(subject));
        equal(client().deleteSubject(subject, true), List.of(1));
        refused(404, 40401, () -> client().getAllVersions(subject));
    }

    private static void compatibility() throws Exception {
        String subject = unique("rides");
        client().register(subject, record(ID));
        equal(client().testCompatibility(subject, record(ID, NOTE)), true);
        equal(client().testCompatibility(subject, record(ID, FARE)), false);
        String said = String.join(" ", client().testCompatibilityVerbose(subject, record(ID, FARE)));
        equal(said.contains("READER_FIELD_MISSING_DEFAULT_VALUE"), true);
        equal(client().testCompatibilityVerbose(subject, record(ID, NOTE), true), List.of());
        refused(409, 40901, () -> client().register(subject, record(ID, FARE)));
        refused(404, 40408, () -> client().getCompatibility(subject));
        equal(client().updateCompatibility(subject, "NONE"), "NONE");
        equal(client().getCompatibility(subject), "NONE");
        client().register(subject, record(ID, FARE));
        client().deleteCompatibility(subject);
        refused(422, 42203, () -> client().updateCompatibility(subject, "SIDEWAYS"));
    }

    private static void configAndMode() throws Exception {
        String subject = unique("rides");
        Config config = new Config("FULL");
        config.setCompatibilityGroup("major");
        equal(client().updateConfig(subject, config).getCompatibilityGroup(), "major");
        equal(client().getConfig(subject).getCompatibilityLevel(), "FULL");
        client().deleteConfig(subject);
        refused(404, 40401, () -> client().deleteConfig(subject));
        equal(client().getMode(), "READWRITE");
        equal(client().setMode("READWRITE"), "READWRITE");
        refused(404, 40409, () -> client().getMode(subject));
        equal(client().setMode("IMPORT", subject), "IMPORT");
        equal(client().register(subject, record(ID, "{\"name\":\"brought\",\"type\":\"int\"}"), 3, 800001), 800001);
        equal(client().getLatestSchemaMetadata(subject).getVersion(), 3);
        equal(client().setMode("READONLY", subject), "READONLY");
        refused(422, 42205, () -> client().register(subject, record(ID)));
        equal(client().setMode("IMPORT", subject, true), "IMPORT");
        client().deleteMode(subject);
        refused(404, 40409, () -> client().getMode(subject));
    }

    private static void referencesAndMetadata() throws Exception {
        String place = unique("place");
        String subject = unique("rides");
        client().register(place, new AvroSchema(named("Place", "{\"name\":\"zone\",\"type\":\"int\"}")));
        String text = named("Ride", "{\"name\":\"from\",\"type\":\"taxi.Place\"}");
        List<SchemaReference> references = List.of(new SchemaReference("taxi.Place", place, 1));
        ParsedSchema ride = client().parseSchema("AVRO", text, references).orElseThrow();
        int id = client().register(subject, ride);
        equal(client().getSchemaById(id).references(), references);
        equal(client().getVersion(subject, ride), 1);
        refused(422, 42206, () -> client().deleteSubject(place));
        Metadata metadata = new Metadata(Map.of(), Map.of("owner", "a"), java.util.Set.of());
        ParsedSchema owned = record(ID).copy(metadata, null);
        String other = unique("owned");
        client().register(other, owned);
        equal(client().getLatestWithMetadata(other, Map.of("owner", "a"), false).getMetadata(), metadata);
        refused(404, 40403, () -> client().getLatestWithMetadata(other, Map.of("owner", "b"), false));
    }

    private static void contexts() throws Exception {
        String context = unique("ctx").replace("-", "");
        SchemaRegistryClient inside = new CachedSchemaRegistryClient(url + "/contexts/" + context, 100);
        equal(inside.register("rides", record(ID)), 1);
        equal(client().getAllSubjectsByPrefix(":." + context + ":"), List.of(":." + context + ":rides"));
        equal(client().getSchemaBySubjectAndId(":." + context + ":rides", 1), record(ID));
    }

    private static void service() throws Exception {
        RestService service = new RestService(url);
        isIn("PROTOBUF", service.getSchemaTypes());
        isIn(".", service.getAllContexts());
        String subject = unique("rides");
        int id = client().register(subject, record(ID));
        equal(service.getVersionSchemaOnly(subject, 1), record(ID).canonicalString());
        equal(service.getId(id).getSchemaString(), record(ID).canonicalString());
        equal(service.getSchemas(subject, false, true).size(), 1);
        equal(service.getConfig(Map.of(), subject, true).getCompatibilityLevel(), "BACKWARD");
        equal(service.getReferencedBy(subject, 1), List.of());
        equal(service.getSchemaRegistryServerVersion() != null, true);
        equal(service.getClusterId() != null, true);
    }

    private static void password() throws Exception {
        String name = newUser();
        SchemaRegistryClient client = user(name + ":pass word");
        equal(client.register(unique("rides"), record(ID)) > 0, true);
        refused(403, 40301, () -> client.updateCompatibility(null, "NONE"));
        refused(401, 401, () -> user(name + ":password").getAllSubjects());
        refused(401, 401, () -> guarded(Map.of()).getAllSubjects());
        administer("PUT", "users/" + name, "{\"disabled\": true}");
        refused(401, 401, () -> client.getAllSubjects());
    }

    private static void apiToken() throws Exception {
        List<Function<String, SchemaRegistryClient>> logins = List.of(
            text -> user("token:" + text), text -> bearer("STATIC_TOKEN", Map.of("bearer.auth.token", text)));
        for (Function<String, SchemaRegistryClient> login : logins) {
            String made = administer("POST", "tokens", "{\"owner\": \"User:" + newUser() + "\", \"name\": \"a test\"}");
            String token = member(made, "token");
            SchemaRegistryClient client = login.apply(token);
            client.getAllSubjects();
            String wrong = token.substring(0, token.length() - 1) + (token.endsWith("a") ? "b" : "a");
            refused(401, 401, () -> login.apply(wrong).getAllSubjects());
            administer("DELETE", "tokens/" + member(made, "id"), "");
            refused(401, 401, () -> client.getAllSubjects());
        }
    }

    private static void jwt() throws Exception {
        SchemaRegistryClient granted = oauth("a-secret");
        granted.getAllSubjects();
        SchemaRegistryClient client = bearer("STATIC_TOKEN", Map.of("bearer.auth.token", newJwt("brief")));
        client.getAllSubjects();
        String other = newJwt("ci");
        int end = other.lastIndexOf('.') + 1;
        String forged = other.substring(0, end) + new StringBuilder(other.substring(end)).reverse();
        refused(401, 401, () -> bearer("STATIC_TOKEN", Map.of("bearer.auth.token", forged)).getAllSubjects());
        for (long deadline = System.nanoTime() + 300_000_000_000L; isAccepted(client); Thread.sleep(100)) {
            equal(System.nanoTime() < deadline, true);
        }
        granted.getAllSubjects(); // its first token has ended, too: it is older
        try {
            oauth("wrong").getAllSubjects();
        } catch (Exception refusal) {
            return;
        }
        throw new AssertionError("wanted no token for a wrong secret");
    }

    private static void certificate() throws Exception {
        SchemaRegistryClient client = certified("authority", "caller", Map.of());
        equal(client.register(unique("rides"), record(ID)) > 0, true);
        refused(403, 40301, () -> client.updateCompatibility(null, "NONE"));
        refused(401, 401, () -> certified("authority", "nobody", Map.of()).getAllSubjects());
        Map<String, Object> wrong = Map.of("basic.auth.credentials.source", "USER_INFO", "basic.auth.user.info", "alice:wrong");
        refused(401, 401, () -> certified("authority", "caller", wrong).getAllSubjects()); // the header is the identity
        for (String name : List.of("stranger", "expired", "revoked", "")) {
            hasNoConnection(certified("authority", name, Map.of()));
        }
        hasNoConnection(certified("another-authority", "caller", Map.of())); // a server that is not trusted
    }

    private static void hasNoConnection(SchemaRegistryClient client) throws Exception {
        try {
            client.getAllSubjects();
        } catch (java.io.IOException refusal) {
            return;
        }
        throw new AssertionError("wanted no connection");
    }

    /** A client that trusts an authority and shows a certificate; without a name it has none. */
    private static SchemaRegistryClient certified(String authority, String name, Map<String, Object> login) {
        String folder = System.getenv("CERTIFICATES") + "/";
        String ssl = "schema.registry.ssl.";
        Map<String, Object> all = new java.util.HashMap<>(login);
        all.put(ssl + "truststore.type", "PKCS12");
        all.put(ssl + "truststore.location", folder + authority + ".p12");
        all.put(ssl + "truststore.password", System.getenv("CERTIFICATES_PASSWORD"));
        if (!name.isEmpty()) {
            all.put(ssl + "keystore.type", "PKCS12");
            all.put(ssl + "keystore.location", folder + name + ".p12");
            all.put(ssl + "keystore.password", System.getenv("CERTIFICATES_PASSWORD"));
            all.put(ssl + "key.password", System.getenv("CERTIFICATES_PASSWORD"));
        }
        return new CachedSchemaRegistryClient(System.getenv("CERTIFIED_URL"), 100, all);
    }

    private static boolean isAccepted(SchemaRegistryClient client) throws Exception {
        try {
            client.getAllSubjects();
            return true;
        } catch (RestClientException refusal) {
            equal(List.of(refusal.getStatus(), refusal.getErrorCode()), List.of(401, 401));
            return false;
        }
    }

    private static SchemaRegistryClient user(String info) {
        return guarded(Map.of("basic.auth.credentials.source", "USER_INFO", "basic.auth.user.info", info));
    }

    private static SchemaRegistryClient bearer(String source, Map<String, Object> settings) {
        Map<String, Object> all = new java.util.HashMap<>(settings);
        all.put("bearer.auth.credentials.source", source);
        return guarded(all);
    }

    private static SchemaRegistryClient oauth(String secret) {
        return bearer("OAUTHBEARER", Map.of(
            "bearer.auth.issuer.endpoint.url", System.getenv("TOKEN_URL"), "bearer.auth.client.id", "brief",
            "bearer.auth.client.secret", secret, "bearer.auth.scope", "read",
            "bearer.auth.cache.expiry.buffer.seconds", (short) 1));
    }

    private static SchemaRegistryClient guarded(Map<String, Object> settings) {
        return new CachedSchemaRegistryClient(System.getenv("GUARDED_URL"), 100, settings);
    }

    private static String newUser() throws Exception {
        String name = unique("caller");
        administer("PUT", "users/" + name, "{\"password\": \"pass word\"}");
        return name;
    }

    private static String newJwt(String client) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("TOKEN_URL")))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials&scope=read"));
        return member(sent(request, client + ":a-secret"), "access_token");
    }

    private static String administer(String method, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("GUARDED_URL") + "/auth/v1/" + path))
            .header("Content-Type", "application/json").method(method, HttpRequest.BodyPublishers.ofString(body));
        return sent(request, System.getenv("GUARDED_ADMIN"));
    }

    private static String sent(HttpRequest.Builder request, String login) throws Exception {
        String basic = Base64.getEncoder().encodeToString(login.getBytes("UTF-8"));
        HttpRequest finished = request.header("Authorization", "Basic " + basic).build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(finished, HttpResponse.BodyHandlers.ofString());
        equal(answer.statusCode() / 100, 2);
        return answer.body();
    }

    private static String member(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\\s*\"([^\"]+)\"").matcher(json);
        equal(found.find(), true);
        return found.group(1);
    }

    private static SchemaRegistryClient client() {
        return new CachedSchemaRegistryClient(url, 100); // a new one remembers nothing
    }

    private static AvroSchema record(String... fields) {
        return new AvroSchema(named("Ride", fields));
    }

    private static String named(String name, String... fields) {
        return "{\"type\":\"record\",\"name\":\"" + name + "\",\"namespace\":\"taxi\",\"fields\":[" + String.join(",", fields) + "]}";
    }

    private static String unique(String stem) {
        return stem + "-" + UUID.randomUUID().toString().substring(0, 8);
    }

    private static void equal(Object found, Object wanted) {
        if (!wanted.equals(found)) {
            throw new AssertionError("found " + found + ", wanted " + wanted);
        }
    }

    private static void isIn(String wanted, Collection<String> found) {
        if (!found.contains(wanted)) {
            throw new AssertionError(wanted + " is not in " + found);
        }
    }

    private static void refused(int status, int code, Story story) throws Exception {
        try {
            story.tell();
        } catch (RestClientException refusal) {
            equal(List.of(refusal.getStatus(), refusal.getErrorCode()), List.of(status, code));
            return;
        }
        throw new AssertionError("wanted a refusal with " + code);
    }
}
