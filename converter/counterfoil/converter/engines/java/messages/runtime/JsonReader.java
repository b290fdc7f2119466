package counterfoil.messages;

/**
 * Reads JSON texts strictly (RFC 8259): of two equal names the last counts, whole numbers are exact, others are the
 * nearest doubles. Arrays and objects of a type that they do not have are skipped, and become OTHER.
 */
public final class JsonReader {
  private static final int MAX_DEPTH = 1024;
  private static final int MAX_DIGITS = 4300;
  private static final int SAFE_DIGITS = 18;
  private static final int EXACT_DIGITS = 15;
  private static final double[] TENS = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
    1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

  /** A null that is written. */
  public static final Object NULL = new Object();
  /** An array or an object where none is expected. */
  public static final Object OTHER = new Object();
  /** A property that is left out. */
  public static final Object ABSENT = new Object();

  private byte[] data;
  private int p;
  private int depth;
  private int keyFrom;
  private int keyTo;
  private byte[] keyData;

  /** Read the text from a position to the end. */
  public Object read(JsonType type, byte[] bytes, int from) {
    data = bytes;
    p = from;
    depth = 0;
    try {
      Object made = value(type);
      blanks();
      if (p != bytes.length) {
        throw refused("something follows the value");
      }
      return made;
    } finally {
      data = null;
      keyData = null;
    }
  }

  private Failure refused(String problem) {
    return new Failure(Codes.UNDECODABLE, "", "The body is not JSON: " + problem + " (byte " + p + ")");
  }

  private void blanks() {
    byte[] bytes = data;
    while (p < bytes.length) {
      int letter = bytes[p];
      if (letter > ' ' || (letter != ' ' && letter != '\n' && letter != '\r' && letter != '\t')) {
        return;
      }
      p++;
    }
  }

  private int next() {
    if (p >= data.length) {
      throw refused("the data ends too early");
    }
    return data[p];
  }

  private Object value(JsonType type) {
    blanks();
    switch (next()) {
      case '{': return object(type);
      case '[': return array(type);
      case '"': return text(type);
      case 't': return word("true", Boolean.TRUE);
      case 'f': return word("false", Boolean.FALSE);
      case 'n': return word("null", NULL);
      default: return number();
    }
  }

  private Object word(String word, Object value) {
    for (int i = 0; i < word.length(); i++) {
      if (p + i >= data.length || data[p + i] != word.charAt(i)) {
        throw refused("expecting a value");
      }
    }
    p += word.length();
    return value;
  }

  private void deeper() {
    if (++depth > MAX_DEPTH) {
      throw refused("arrays and objects are nested too deep");
    }
    p++;
    blanks();
  }

  /** Return whether there is another item or property, after a comma. */
  private boolean another(int end) {
    blanks();
    int letter = next();
    p++;
    if (letter == end) {
      depth--;
      return false;
    }
    if (letter != ',') {
      p--;
      throw refused("expecting a comma");
    }
    blanks();
    return true;
  }

  private boolean isEmpty(int end) {
    if (next() == end) {
      p++;
      depth--;
      return true;
    }
    return false;
  }

  private Object array(JsonType type) {
    JsonType holding = type == null ? null : type.holding(false);
    Items items = holding == null ? null : new Items();
    JsonType inner = holding == null ? null : holding.inner;
    deeper();
    if (!isEmpty(']')) {
      do {
        Object item = value(inner);
        if (items != null) {
          items.add(item);
        }
      } while (another(']'));
    }
    return items == null ? OTHER : items;
  }

  private Object object(JsonType type) {
    JsonType holding = type == null ? null : type.holding(true);
    if (holding == null || holding.kind == JsonType.MAP) {
      return entries(holding);
    }
    Object[] made = new Object[holding.types.length];
    java.util.Arrays.fill(made, ABSENT);
    deeper();
    if (!isEmpty('}')) {
      int likely = 0;
      do {
        key();
        int place = holding.placeOf(keyData, keyFrom, keyTo, likely);
        Object value = value(place < 0 ? null : holding.types[place]);
        if (place >= 0) {
          made[place] = value;
          likely = place + 1;
        }
      } while (another('}'));
    }
    return made;
  }

  private Object entries(JsonType type) {
    Entries made = type == null ? null : new Entries();
    deeper();
    if (!isEmpty('}')) {
      do {
        key();
        Texts name = made == null ? null : Values.span(keyData, keyFrom, keyTo);
        Object value = value(type == null ? null : type.inner);
        if (made != null) {
          made.put(name, value);
        }
      } while (another('}'));
    }
    return made == null ? OTHER : made;
  }

  /** Read the name of a property and the colon after it. */
  private void key() {
    if (next() != '"') {
      throw refused("expecting the name of a property in quotes");
    }
    string();
    byte[] name = keyData;
    blanks();
    if (next() != ':') {
      throw refused("expecting a colon");
    }
    p++;
    keyData = name;
  }

  private Object text(JsonType type) {
    string();
    return type == null ? OTHER : Values.span(keyData, keyFrom, keyTo);
  }

  // -- strings

  /** Read a string; its text is in keyData, from keyFrom to keyTo. */
  private void string() {
    byte[] bytes = data;
    int from = ++p;
    boolean isAscii = true;
    while (p < bytes.length) {
      int letter = bytes[p];
      if (letter == '"') {
        if (!isAscii && !Texts.isUtf8(bytes, from, p)) {
          throw refused("the text is not UTF-8");
        }
        keyData = bytes;
        keyFrom = from;
        keyTo = p++;
        return;
      }
      if (letter == '\\') {
        escaped(from, isAscii);
        return;
      }
      if (letter < 0) {
        isAscii = false;
      } else if (letter < ' ') {
        throw refused("an invalid control character");
      }
      p++;
    }
    throw refused("a string without an end");
  }

  /** Read the rest of a string that has escaped characters. */
  private void escaped(int from, boolean isAscii) {
    byte[] made = new byte[Math.max(64, 2 * (p - from))];
    int size = p - from;
    System.arraycopy(data, from, made, 0, size);
    while (true) {
      int letter = next();
      p++;
      if (letter == '"') {
        break;
      }
      if (letter >= 0 && letter < ' ') {
        throw refused("an invalid control character");
      }
      if (size + 4 > made.length) {
        made = java.util.Arrays.copyOf(made, 2 * made.length);
      }
      if (letter != '\\') {
        made[size++] = (byte) letter;
      } else {
        size = unescaped(made, size);
      }
    }
    if (!Texts.isUtf8(made, 0, size)) {
      throw refused("the text is not UTF-8");
    }
    keyData = made;
    keyFrom = 0;
    keyTo = size;
  }

  private int unescaped(byte[] made, int size) {
    int letter = next();
    p++;
    switch (letter) {
      case '"':
      case '\\':
      case '/': made[size] = (byte) letter; return size + 1;
      case 'b': made[size] = (byte) '\b'; return size + 1;
      case 'f': made[size] = (byte) '\f'; return size + 1;
      case 'n': made[size] = (byte) '\n'; return size + 1;
      case 'r': made[size] = (byte) '\r'; return size + 1;
      case 't': made[size] = (byte) '\t'; return size + 1;
      case 'u': return put(made, size, codePoint());
      default: throw refused("an invalid escape");
    }
  }

  private int codePoint() {
    int unit = unit();
    if (unit < 0xd800 || unit > 0xdfff) {
      return unit;
    }
    if (unit <= 0xdbff && p + 1 < data.length && data[p] == '\\' && data[p + 1] == 'u') {
      p += 2;
      int low = unit();
      if (low >= 0xdc00 && low <= 0xdfff) {
        return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      }
    }
    throw refused("an escaped character is half of a surrogate pair");
  }

  private int unit() {
    if (data.length - p < 4) {
      throw refused("an invalid escape");
    }
    int made = 0;
    for (int i = 0; i < 4; i++) {
      int digit = Character.digit((char) (data[p++] & 0xff), 16);
      if (digit < 0) {
        throw refused("an invalid escape");
      }
      made = 16 * made + digit;
    }
    return made;
  }

  private static int put(byte[] made, int size, int point) {
    if (point < 0x80) {
      made[size] = (byte) point;
      return size + 1;
    }
    if (point < 0x800) {
      made[size] = (byte) (0xc0 | point >> 6);
      made[size + 1] = (byte) (0x80 | (point & 0x3f));
      return size + 2;
    }
    if (point < 0x10000) {
      made[size] = (byte) (0xe0 | point >> 12);
      made[size + 1] = (byte) (0x80 | (point >> 6 & 0x3f));
      made[size + 2] = (byte) (0x80 | (point & 0x3f));
      return size + 3;
    }
    made[size] = (byte) (0xf0 | point >> 18);
    made[size + 1] = (byte) (0x80 | (point >> 12 & 0x3f));
    made[size + 2] = (byte) (0x80 | (point >> 6 & 0x3f));
    made[size + 3] = (byte) (0x80 | (point & 0x3f));
    return size + 4;
  }

  // -- numbers

  private int digits(int from) {
    int at = from;
    while (at < data.length && data[at] >= '0' && data[at] <= '9') {
      at++;
    }
    return at;
  }

  private Object number() {
    int from = p;
    int first = data[p] == '-' ? p + 1 : p;
    int end = digits(first);
    if (end == first) {
      throw refused("expecting a value");
    }
    if (data[first] == '0' && end > first + 1) {
      throw refused("something follows the value");
    }
    int whole = end;
    if (end < data.length && data[end] == '.') {
      int after = digits(end + 1);
      if (after == end + 1) {
        throw refused("expecting digits");
      }
      end = after;
    }
    int mantissa = end;
    if (end < data.length && (data[end] | 0x20) == 'e') {
      int begin = end + 1;
      if (begin < data.length && (data[begin] == '+' || data[begin] == '-')) {
        begin++;
      }
      end = digits(begin);
      if (end == begin) {
        throw refused("expecting digits");
      }
    }
    p = end;
    return end == whole ? whole(from, first, end) : (Object) real(from, first, whole, mantissa, end);
  }

  private Object whole(int from, int first, int end) {
    if (end - first <= SAFE_DIGITS) {
      long made = 0;
      for (int i = first; i < end; i++) {
        made = 10 * made + data[i] - '0';
      }
      return Long.valueOf(first > from ? -made : made);
    }
    if (end - first > MAX_DIGITS) {
      throw refused("an integer of more than " + MAX_DIGITS + " digits");
    }
    return Values.whole(new java.math.BigInteger(Texts.string(data, from, end)));
  }

  private Double real(int from, int first, int whole, int mantissa, int end) {
    if (mantissa == end && mantissa - first <= EXACT_DIGITS + 1) {
      long made = 0;
      for (int i = first; i < mantissa; i++) {
        if (i != whole) {
          made = 10 * made + data[i] - '0';
        }
      }
      double real = made / TENS[mantissa - whole - 1];
      return Double.valueOf(first > from ? -real : real);
    }
    double real = Double.parseDouble(Texts.string(data, from, end));
    if (Double.isInfinite(real)) {
      throw refused("a number is too large");
    }
    return Double.valueOf(real);
  }
}
