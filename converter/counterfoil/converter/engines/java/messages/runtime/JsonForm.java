package counterfoil.messages;

/** A type of JSON values that are written, with the limits of its schema. */
public final class JsonForm {
  public static final int PLAIN = 0;
  public static final int RECORD = 1;
  public static final int MAP = 2;
  public static final int ARRAY = 3;
  public static final int UNION = 4;

  public final int kind;
  public JsonForm inner;
  public JsonForm[] branches;
  /** The properties: their names, as they are written with quotes and colon, types, and whether null is written. */
  public String[] names;
  public byte[][] written;
  public JsonForm[] forms;
  public boolean[] writesNull;
  /** Whether there are limits here or below. */
  public boolean isLimited;
  /** The limits of the number, the size of the text or of the array; null or -1 for none. */
  public JsonLimit low;
  public JsonLimit high;
  public long fewest = -1;
  public long most = -1;

  /** What a text must contain, what a whole number must be a multiple or one of; null for none. */
  public TextPattern pattern;
  public java.math.BigInteger factor;
  public java.util.HashSet among;
  /** Whether all items of the array must be different. */
  public boolean isUnique;
  /** A schema whose keywords are judged together, for the value with all of its parts; null for none. */
  public JsonTest test;
  /** The names of the properties, where a schema is judged so. */
  public String[] keys;
  /** Whether it is the one branch of a choice: what is wrong inside is reported for the choice as a whole. */
  public boolean isChoice;

  public JsonForm(int kind) {
    this.kind = kind;
  }

  public void fill(String[] names, byte[][] written, JsonForm[] forms, boolean[] writesNull) {
    this.names = names;
    this.written = written;
    this.forms = forms;
    this.writesNull = writesNull;
  }

  public JsonForm keyed(String[] keys) {
    this.keys = keys;
    return this;
  }

  public JsonForm tested(JsonTest test) {
    this.test = test;
    return this;
  }

  public JsonForm of(JsonForm inner) {
    this.inner = inner;
    return this;
  }

  public JsonForm of(JsonForm[] branches) {
    this.branches = branches;
    return this;
  }

  public JsonForm between(JsonLimit low, JsonLimit high) {
    this.low = low;
    this.high = high;
    return this;
  }

  public JsonForm sized(long fewest, long most) {
    this.fewest = fewest;
    this.most = most;
    return this;
  }

  public JsonForm matching(TextPattern pattern) {
    this.pattern = pattern;
    return this;
  }

  public JsonForm multipleOf(String factor) {
    this.factor = new java.math.BigInteger(factor);
    return this;
  }

  /** The whole numbers that the value may be, separated by commas. */
  public JsonForm oneOf(String numbers) {
    among = new java.util.HashSet();
    java.util.StringTokenizer parts = new java.util.StringTokenizer(numbers, ",");
    while (parts.hasMoreTokens()) {
      among.add(new java.math.BigInteger(parts.nextToken()));
    }
    return this;
  }

  public JsonForm unique() {
    isUnique = true;
    return this;
  }

  public JsonForm choice() {
    isChoice = true;
    return this;
  }

  public JsonForm limited() {
    isLimited = true;
    return this;
  }
}
