package counterfoil.messages;

/** A type of JSON values that are read. */
public final class JsonType {
  public static final int ANY = 0;
  public static final int RECORD = 1;
  public static final int MAP = 2;
  public static final int ARRAY = 3;
  public static final int BOOLEAN = 4;
  public static final int TEXT = 5;
  public static final int ENUM = 6;
  public static final int WHOLE = 7;
  public static final int NUMBER = 8;
  public static final int NULL = 9;
  public static final int UNION = 10;

  /** Stands for a property that may not be left out. */
  public static final Object REQUIRED = new Object();

  public final int kind;
  public final boolean isNullable;
  public final String words;
  /** The type of items or values. */
  public JsonType inner;
  /** The branches of a union without null. */
  public JsonType[] branches;
  /** The properties: their names, types, and values where they are left out. */
  public String[] names;
  public JsonType[] types;
  public Object[] absent;
  private byte[][] spelt;
  private Table places;
  /** The limits of a whole number; the bits without a sign are more than 63 for some. */
  public boolean isSigned;
  public int bits;

  public JsonType(int kind, boolean isNullable, String words) {
    this.kind = kind;
    this.isNullable = isNullable;
    this.words = words;
  }

  public void fill(byte[][] spelt, JsonType[] types, Object[] absent) {
    this.spelt = spelt;
    this.places = new Table(spelt);
    this.types = types;
    this.absent = absent;
    names = new String[spelt.length];
    for (int i = 0; i < spelt.length; i++) {
      names[i] = Texts.string(spelt[i], 0, spelt[i].length);
    }
  }

  public JsonType of(JsonType inner) {
    this.inner = inner;
    return this;
  }

  public JsonType of(JsonType[] branches) {
    this.branches = branches;
    return this;
  }

  public JsonType within(int bits, boolean isSigned) {
    this.bits = bits;
    this.isSigned = isSigned;
    return this;
  }

  /** The symbols of an enum. */
  public JsonType among(byte[][] symbols) {
    places = new Table(symbols);
    return this;
  }

  /** Return the place of a property or a symbol, -1 if there is none; {@code likely} is tried first. */
  public int placeOf(byte[] data, int from, int to, int likely) {
    if (spelt != null && likely < spelt.length && Texts.equal(data, from, to, spelt[likely])) {
      return likely;
    }
    return places.placeOf(data, from, to);
  }

  /** Return the type, or the branch of a union, that arrays or objects may have; null if there is none. */
  public JsonType holding(boolean isObject) {
    if (kind == UNION) {
      for (int i = 0; i < branches.length; i++) {
        JsonType found = branches[i].holding(isObject);
        if (found != null) {
          return found;
        }
      }
      return null;
    }
    return (isObject ? kind == RECORD || kind == MAP : kind == ARRAY) ? this : null;
  }
}
