package counterfoil.runtime;

/** Functions of texts; the meaning is that of counterfoil.schema.plans.text_functions. Characters are code points. */
public final class TextCalls {
  private static final int MOST_BYTES = 16 * 1024 * 1024;
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private TextCalls() {
  }

  /** Refuse a text that is larger than any record. */
  public static void checkSize(long size, String field) {
    if (size > MOST_BYTES) {
      String problem = "the text would have " + size + " bytes; at most " + MOST_BYTES;
      throw new Failure(Codes.OUT_OF_RANGE, field, problem);
    }
  }

  // -- characters

  /** Return how many bytes the character at a place has. */
  static int sizeAt(byte[] data, int at) {
    int first = data[at];
    return first >= 0 ? 1 : (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : 4;
  }

  static int pointAt(byte[] data, int at) {
    int size = sizeAt(data, at);
    int first = data[at];
    int point = size == 1 ? first : first & (0xff >> (size + 1));
    for (int i = 1; i < size; i++) {
      point = point << 6 | (data[at + i] & 0x3f);
    }
    return point;
  }

  public static long length(byte[] data, int from, int to) {
    int count = 0;
    for (int p = from; p < to; p++) {
      count += (data[p] & 0xc0) == 0x80 ? 0 : 1;
    }
    return count;
  }

  /** Return the place of a character that is so many behind another place; the end if there are fewer. */
  private static int behind(byte[] data, int from, int to, long count) {
    int p = from;
    for (long i = 0; i < count && p < to; i++) {
      p += sizeAt(data, p);
    }
    return p;
  }

  /** Compare two spans by their bytes without signs, as Arrays of Java 9 does; a beginning comes first. */
  public static int compare(byte[] left, int from, int to, byte[] right, int start, int end) {
    int shared = Math.min(to - from, end - start);
    for (int i = 0; i < shared; i++) {
      int difference = (left[from + i] & 0xff) - (right[start + i] & 0xff);
      if (difference != 0) {
        return difference;
      }
    }
    return to - from - (end - start);
  }

  // -- functions

  public static void trim(Texts made, byte[] data, int from, int to) {
    int start = from;
    int end = to;
    while (start < end && isBlank(data[start])) {
      start++;
    }
    while (end > start && isBlank(data[end - 1])) {
      end--;
    }
    made.set(data, start, end);
  }

  private static boolean isBlank(int letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
  }

  /** Make a text with another one instead of each occurrence of one, from left to right. */
  public static void replace(Texts made, byte[] data, int from, int to, byte[] old, byte[] other, String field) {
    long count = 0;
    for (int p = Texts.find(data, from, to, old); p >= 0; p = Texts.find(data, p + old.length, to, old)) {
      count++;
    }
    if (count == 0) {
      made.set(data, from, to);
      return;
    }
    long size = to - from + count * (other.length - old.length);
    if (other.length > old.length) {
      checkSize(size, field);
    }
    byte[] buffer = new byte[(int) size];
    int at = 0;
    int begin = from;
    for (int p = Texts.find(data, from, to, old); p >= 0; p = Texts.find(data, begin, to, old)) {
      System.arraycopy(data, begin, buffer, at, p - begin);
      at += p - begin;
      System.arraycopy(other, 0, buffer, at, other.length);
      at += other.length;
      begin = p + old.length;
    }
    System.arraycopy(data, begin, buffer, at, to - begin);
    made.set(buffer);
  }

  /** Set a part of a text: from a character on, counted from 0 or from the end with a minus; -1: to the end. */
  public static void substring(Texts made, byte[] data, int from, int to, long start, long length) {
    long skipped = start < 0 ? Math.max(0, length(data, from, to) + start) : start;
    int begin = behind(data, from, to, skipped);
    made.set(data, begin, length < 0 ? to : behind(data, begin, to, length));
  }

  /** Make a text that is filled up to so many characters. */
  public static void pad(Texts made, byte[] data, int from, int to, long width, byte[] fill, boolean isLeft) {
    long missing = width - length(data, from, to);
    made.buffer(0);
    if (!isLeft) {
      made.append(data, from, to);
    }
    for (long i = 0; i < missing; i++) {
      made.append(fill, 0, fill.length);
    }
    if (isLeft) {
      made.append(data, from, to);
    }
  }

  /** Make a text with a star instead of each character but the last few; of a text without more, instead of each. */
  public static void mask(Texts made, byte[] data, int from, int to, long shown) {
    long count = length(data, from, to);
    long hidden = count > shown ? count - shown : count;
    int rest = behind(data, from, to, hidden);
    byte[] stars = made.buffer((int) hidden);
    java.util.Arrays.fill(stars, 0, (int) hidden, (byte) '*');
    made.append(data, rest, to);
  }

  // -- hashes

  public static javax.crypto.Mac mac(byte[] key) {
    try {
      javax.crypto.Mac mac = javax.crypto.Mac.getInstance("HmacSHA256");
      mac.init(new javax.crypto.spec.SecretKeySpec(key, "HmacSHA256"));
      return mac;
    } catch (java.security.GeneralSecurityException failure) {
      throw new IllegalStateException(failure.getMessage(), failure);
    }
  }

  public static void hash(Texts made, byte[] data, int from, int to, javax.crypto.Mac mac) {
    mac.update(data, from, to - from);
    byte[] digest = mac.doFinal();
    byte[] hex = made.buffer(2 * digest.length);
    for (int i = 0; i < digest.length; i++) {
      hex[2 * i] = (byte) HEX[(digest[i] & 0xf0) >> 4];
      hex[2 * i + 1] = (byte) HEX[digest[i] & 0x0f];
    }
  }
}
