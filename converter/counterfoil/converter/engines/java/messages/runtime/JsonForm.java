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

  public JsonForm(int kind) {
    this.kind = kind;
  }

  public void fill(String[] names, byte[][] written, JsonForm[] forms, boolean[] writesNull) {
    this.names = names;
    this.written = written;
    this.forms = forms;
    this.writesNull = writesNull;
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

  public JsonForm limited() {
    isLimited = true;
    return this;
  }
}
