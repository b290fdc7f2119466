package counterfoil.runtime;

/** Text as bytes of UTF-8: a part of a record, or of a buffer of its own. Operations of plans are in methods of it. */
public final class Texts {
  public static final byte[] EMPTY = new byte[0];
  private static final int SHOWN = 60;
  private static final int SHORT = 16;

  public byte[] data = EMPTY;
  public int from;
  public int to;

  public void set(byte[] bytes, int start, int end) {
    data = bytes;
    from = start;
    to = end;
  }

  public void set(byte[] bytes) {
    set(bytes, 0, bytes.length);
  }

  public void set(String text) {
    set(bytes(text));
  }

  /** Make the text a buffer of {@code size} bytes, and return it. */
  public byte[] buffer(int size) {
    if (data.length < size || from != 0) {
      data = new byte[Math.max(size, 32)];
    }
    from = 0;
    to = size;
    return data;
  }

  /** Append bytes behind {@code to}; the text must be a buffer of its own. */
  public void append(byte[] bytes, int start, int end) {
    int length = end - start;
    if (length > data.length - to) {
      byte[] larger = new byte[Math.max(data.length * 2, to + length)];
      System.arraycopy(data, 0, larger, 0, to);
      data = larger;
    }
    System.arraycopy(bytes, start, data, to, length);
    to += length;
  }

  public void append(byte letter) {
    if (to == data.length) {
      data = java.util.Arrays.copyOf(data, Math.max(data.length * 2, 32));
    }
    data[to++] = letter;
  }

  /** Append bytes of a text that is joined, within what a text may have. */
  public void join(byte[] bytes, int start, int end, String field) {
    TextCalls.checkSize((long) to + end - start, field);
    append(bytes, start, end);
  }

  /** Set the piece {@code take} of a text, counted from 0, or from the end with -1. */
  public void split(byte[] text, int start, int end, byte[] separator, int take, String field) {
    int count = 1;
    if (take < 0) {
      for (int p = find(text, start, end, separator); p >= 0; p = find(text, p + separator.length, end, separator)) {
        count++;
      }
    }
    int wanted = take < 0 ? take + count : take;
    int place = 0;
    int begin = start;
    while (wanted >= 0) {
      int next = find(text, begin, end, separator);
      if (place == wanted) {
        set(text, begin, next < 0 ? end : next);
        return;
      }
      if (next < 0) {
        break;
      }
      begin = next + separator.length;
      place++;
    }
    String pieces = counted(Math.max(count, place + 1), "piece", "pieces");
    String problem = shown(text, start, end) + " has " + pieces + "; piece " + take + " is not there";
    throw new Failure(Codes.SPLIT_MISSING, field, problem);
  }

  static int find(byte[] text, int from, int end, byte[] wanted) {
    if (wanted.length > SHORT) {
      return findLong(text, from, end, wanted);
    }
    for (int p = from; p <= end - wanted.length; p++) {
      if (equal(text, p, p + wanted.length, wanted)) {
        return p;
      }
    }
    return -1;
  }

  /** Find a text in time by the length of what is looked through, as Knuth, Morris and Pratt do. */
  private static int findLong(byte[] text, int from, int end, byte[] wanted) {
    int[] borders = new int[wanted.length];
    for (int i = 1, k = 0; i < wanted.length; i++) {
      while (k > 0 && wanted[i] != wanted[k]) {
        k = borders[k - 1];
      }
      k += wanted[i] == wanted[k] ? 1 : 0;
      borders[i] = k;
    }
    for (int p = from, k = 0; p < end; p++) {
      while (k > 0 && text[p] != wanted[k]) {
        k = borders[k - 1];
      }
      k += text[p] == wanted[k] ? 1 : 0;
      if (k == wanted.length) {
        return p - k + 1;
      }
    }
    return -1;
  }

  public static boolean equal(byte[] text, int from, int to, byte[] other) {
    if (to - from != other.length) {
      return false;
    }
    for (int i = 0; i < other.length; i++) {
      if (text[from + i] != other[i]) {
        return false;
      }
    }
    return true;
  }

  /** Return the place of a text in {@code words}, -1 where it is none of them. */
  public static int placeOf(byte[] text, int from, int to, byte[][] words) {
    for (int i = 0; i < words.length; i++) {
      if (equal(text, from, to, words[i])) {
        return i;
      }
    }
    return -1;
  }

  /** Return whether the bytes are UTF-8 without surrogates and over-long forms. */
  public static boolean isUtf8(byte[] data, int from, int to) {
    int p = from;
    while (p < to) {
      int first = data[p++];
      if (first >= 0) {
        continue;
      }
      int more;
      int low = 0x80;
      int high = 0xbf;
      int lead = first & 0xff;
      if (lead >= 0xc2 && lead <= 0xdf) {
        more = 1;
      } else if (lead >= 0xe0 && lead <= 0xef) {
        more = 2;
        low = lead == 0xe0 ? 0xa0 : low;
        high = lead == 0xed ? 0x9f : high;
      } else if (lead >= 0xf0 && lead <= 0xf4) {
        more = 3;
        low = lead == 0xf0 ? 0x90 : low;
        high = lead == 0xf4 ? 0x8f : high;
      } else {
        return false;
      }
      for (int i = 0; i < more; i++) {
        if (p >= to) {
          return false;
        }
        int next = data[p++] & 0xff;
        if (next < low || next > high) {
          return false;
        }
        low = 0x80;
        high = 0xbf;
      }
    }
    return true;
  }

  public static byte[] bytes(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  public static String string(byte[] data, int from, int to) {
    return new String(data, from, to - from, java.nio.charset.StandardCharsets.UTF_8);
  }

  public static byte[] ofHex(String hex) {
    byte[] made = new byte[hex.length() / 2];
    for (int i = 0; i < made.length; i++) {
      made[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    }
    return made;
  }

  /** Return the bytes of several texts of hexadecimal digits, with a comma between any two. */
  public static byte[][] ofHexes(String hexes) {
    String[] parts = hexes.split(",", -1);
    byte[][] made = new byte[parts.length][];
    for (int i = 0; i < parts.length; i++) {
      made[i] = ofHex(parts[i]);
    }
    return made;
  }

  public static String[] words(String hexes) {
    byte[][] parts = ofHexes(hexes);
    String[] made = new String[parts.length];
    for (int i = 0; i < parts.length; i++) {
      made[i] = string(parts[i], 0, parts[i].length);
    }
    return made;
  }

  public static String hex(byte value) {
    return Integer.toHexString(0x100 | (value & 0xff)).substring(1);
  }

  public static String counted(int count, String one, String many) {
    return count + " " + (count == 1 ? one : many);
  }

  public static String shown(byte[] data, int from, int to) {
    return excerpt(repr(string(data, from, to)));
  }

  public static String shownBytes(byte[] data, int from, int to) {
    StringBuilder made = new StringBuilder("b'");
    for (int p = from; p < to && made.length() <= SHOWN; p++) {
      made.append("\\x").append(hex(data[p]));
    }
    return excerpt(made.append("'").toString());
  }

  private static String excerpt(String text) {
    if (text.codePointCount(0, text.length()) <= SHOWN) {
      return text;
    }
    return text.substring(0, text.offsetByCodePoints(0, SHOWN)) + "\u2026";
  }

  /** Return a text as Python prints it in a message. */
  public static String repr(String text) {
    char quote = text.indexOf('\'') >= 0 && text.indexOf('"') < 0 ? '"' : '\'';
    StringBuilder made = new StringBuilder().append(quote);
    for (int i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
      int point = text.codePointAt(i);
      if (point == quote || point == '\\') {
        made.append('\\').append((char) point);
      } else if (point == '\n') {
        made.append("\\n");
      } else if (point == '\r') {
        made.append("\\r");
      } else if (point == '\t') {
        made.append("\\t");
      } else if (isPrinted(point)) {
        made.appendCodePoint(point);
      } else if (point < 0x100) {
        made.append(escape("\\x", point, 2));
      } else {
        made.append(point < 0x10000 ? escape("\\u", point, 4) : escape("\\U", point, 8));
      }
    }
    return made.append(quote).toString();
  }

  private static String escape(String start, int point, int digits) {
    String hex = Integer.toHexString(point);
    StringBuilder made = new StringBuilder(start);
    for (int i = hex.length(); i < digits; i++) {
      made.append('0');
    }
    return made.append(hex).toString();
  }

  private static boolean isPrinted(int point) {
    int type = Character.getType(point);
    return point == ' ' || !(type == Character.CONTROL || type == Character.FORMAT || type == Character.SURROGATE
        || type == Character.PRIVATE_USE || type == Character.UNASSIGNED || type == Character.LINE_SEPARATOR
        || type == Character.PARAGRAPH_SEPARATOR || type == Character.SPACE_SEPARATOR);
  }
}
