import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.Incompatibility;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * Apache Avro for Java as an oracle. Run it from source: {@code java -cp JARS ApacheAvro.java check}.
 *
 * <p>{@code check} reads one JSON object a line, {@code {"reader": text, "writer": text, "data": [hex, ...]}}, and
 * answers with one a line: {@code {"unread": side and exception}} when a text is no schema, {@code {"threw":
 * exception}} when the checker throws, else {@code {"compatible": bool, "found": [[type, location, message], ...]}};
 * with {@code data} also {@code {"read": [null or exception, ...]}}, one entry for each datum that its decoder was
 * given under the two schemas.
 *
 * <p>{@code time ROUNDS CHECKS} reads one pair, warms up, and prints the nanoseconds of one check, one line a round.
 * A line on stdin starts each round, so that another program can take turns with this one.
 */
public final class ApacheAvro {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int WARM_UP_CHECKS = 40_000;

  private ApacheAvro() {}

  public static void main(String[] arguments) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    if (arguments[0].equals("time")) {
      time(in, out, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
    } else {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
      }
    }
    out.flush();
  }

  private static ObjectNode answer(JsonNode question) {
    ObjectNode answer = JSON.createObjectNode();
    Schema reader = parse(question, "reader", answer);
    Schema writer = parse(question, "writer", answer);
    if (reader == null || writer == null) {
      return answer;
    }
    check(reader, writer, answer);
    if (question.has("data")) {
      ArrayNode read = answer.putArray("read");
      question.get("data").forEach(hex -> read.add(failureToRead(reader, writer, hex.textValue())));
    }
    return answer;
  }

  private static Schema parse(JsonNode question, String side, ObjectNode answer) {
    try {
      return new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false)
          .parse(question.get(side).textValue());
    } catch (RuntimeException | StackOverflowError refused) {
      answer.put("unread", side + ": " + refused);
      return null;
    }
  }

  private static void check(Schema reader, Schema writer, ObjectNode answer) {
    try {
      SchemaCompatibility.SchemaCompatibilityResult result =
          SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getResult();
      answer.put("compatible", result.getIncompatibilities().isEmpty());
      ArrayNode found = answer.putArray("found");
      for (Incompatibility each : result.getIncompatibilities()) {
        found.addArray().add(each.getType().name()).add(each.getLocation()).add(each.getMessage());
      }
    } catch (RuntimeException | StackOverflowError thrown) {
      answer.put("threw", thrown.toString());
    }
  }

  private static String failureToRead(Schema reader, Schema writer, String hex) {
    BinaryDecoder body = DecoderFactory.get().binaryDecoder(HexFormat.of().parseHex(hex), null);
    try {
      new GenericDatumReader<Object>(writer, reader).read(null, body);
      return body.isEnd() ? null : "bytes are left over";
    } catch (IOException | RuntimeException | StackOverflowError failure) {
      return failure.toString();
    }
  }

  private static void time(BufferedReader in, PrintStream out, int rounds, int checks) throws IOException {
    JsonNode question = JSON.readTree(in.readLine());
    ObjectNode answer = JSON.createObjectNode();
    Schema reader = parse(question, "reader", answer);
    Schema writer = parse(question, "writer", answer);
    nanosecondsOfOne(reader, writer, WARM_UP_CHECKS);
    for (int round = 0; round < rounds; round++) {
      out.println("ready");
      out.flush();
      in.readLine();
      out.println(nanosecondsOfOne(reader, writer, checks));
      out.flush();
    }
  }

  private static long nanosecondsOfOne(Schema reader, Schema writer, int checks) {
    int incompatibilities = 0;
    long start = System.nanoTime();
    for (int done = 0; done < checks; done++) {
      incompatibilities += SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getResult()
          .getIncompatibilities().size();
    }
    long taken = System.nanoTime() - start;
    if (incompatibilities < 0) {
      throw new IllegalStateException(); // the result is used, so the loop cannot be optimised away
    }
    return taken / checks;
  }
}
