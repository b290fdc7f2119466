package counterfoil.messages;

/**
 * How a value of Avro is read, or written. Reading: the steps of a writer's values, resolved to the source's schema.
 * Writing: the types of the target.
 */
public final class AvroStep {
  public static final int NULL = 0;
  public static final int BOOLEAN = 1;
  public static final int INT = 2;
  public static final int LONG = 3;
  public static final int FLOAT = 4;
  public static final int DOUBLE = 5;
  public static final int BYTES = 6;
  public static final int STRING = 7;
  public static final int FIXED = 8;
  public static final int ENUM = 9;
  public static final int ARRAY = 10;
  public static final int MAP = 11;
  public static final int RECORD = 12;
  public static final int UNION = 13;
  /** Reading: a branch of a tagged union; {@code size} is its index. */
  public static final int TAGGED = 14;
  /** Reading: a branch or a symbol that the source's schema does not have; {@code problem} says why. */
  public static final int UNREADABLE = 15;

  public final int kind;
  /** The bytes of a fixed; reading: the bytes that every item of an array has at least, the weight of a record. */
  public int size;
  /** The types of items, values, branches or fields. */
  public AvroStep[] parts;
  /** The names of a record's fields; reading: those of the writer. */
  public String[] names;
  /** Reading: the place of each field in the source's record, -1 for one that is skipped. */
  public int[] places;
  /** Reading: the source's record with the defaults of fields that the writer does not have. */
  public Object[] defaults;
  /** Reading: the source's symbol for each of the writer's, null where it has none. */
  public Texts[] symbols;
  /** Writing: the places of the symbols. */
  public Table table;
  public String problem;
  /** Reading: whether a whole number is read as a double. */
  public boolean isPromoted;

  public AvroStep(int kind) {
    this.kind = kind;
  }

  public AvroStep sized(int size) {
    this.size = size;
    return this;
  }

  public AvroStep of(AvroStep[] parts) {
    this.parts = parts;
    return this;
  }

  public AvroStep named(String[] names) {
    this.names = names;
    return this;
  }

  /** Read the fields into places of a record of {@code count} fields. */
  public AvroStep into(int[] places, int count) {
    this.places = places;
    this.defaults = new Object[count];
    return this;
  }

  public void fill(AvroStep[] parts) {
    this.parts = parts;
  }

  public AvroStep promoted() {
    isPromoted = true;
    return this;
  }

  /** Read symbols as those of {@code known} at {@code places}. */
  public AvroStep reading(byte[][] known, int[] places) {
    symbols = new Texts[places.length];
    for (int i = 0; i < places.length; i++) {
      symbols[i] = places[i] < 0 ? null : Values.text(known[places[i]]);
    }
    return this;
  }

  public AvroStep writing(byte[][] symbols) {
    table = new Table(symbols);
    return this;
  }

  public AvroStep because(String problem) {
    this.problem = problem;
    return this;
  }
}
