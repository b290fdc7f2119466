package counterfoil.runtime;

/** The letters of one case, by tables; the meaning is that of counterfoil.schema.plans.text_functions. */
public final class Letters {
  private static final int CAPITAL_SIGMA = 0x3a3;
  private static final byte[] SIGMA = {(byte) 0xcf, (byte) 0x83};
  private static final byte[] FINAL_SIGMA = {(byte) 0xcf, (byte) 0x82};

  private final int[] points;
  private final byte[][] made;
  private final int[] cased;
  private final int[] ignored;
  private final boolean isUpper;

  /** {@code points} are sorted; {@code cased} and {@code ignored} are ranges, each its first and its last character. */
  public Letters(int[] points, byte[][] made, int[] cased, int[] ignored, boolean isUpper) {
    this.points = points;
    this.made = made;
    this.cased = cased;
    this.ignored = ignored;
    this.isUpper = isUpper;
  }

  /** Make a text of the letters of this case. */
  public void turn(Texts text, byte[] data, int from, int to, String field) {
    text.buffer(to - from);
    byte[] ascii = text.data;
    int p = from;
    for (; p < to && data[p] >= 0; p++) {
      ascii[p - from] = (byte) turned(data[p]);
    }
    text.to = p - from;
    while (p < to) {
      int size = TextCalls.sizeAt(data, p);
      if (size == 1) {
        text.append((byte) turned(data[p]));
      } else {
        byte[] other = other(data, from, p, to);
        if (other == null) {
          text.append(data, p, p + size);
        } else {
          text.append(other, 0, other.length);
        }
      }
      p += size;
    }
    TextCalls.checkSize(text.to - text.from, field);
  }

  private int turned(int letter) {
    if (isUpper) {
      return letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
    }
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
  }

  private byte[] other(byte[] data, int from, int at, int to) {
    int point = TextCalls.pointAt(data, at);
    if (point == CAPITAL_SIGMA && !isUpper) {
      return isFinal(data, from, at, to) ? FINAL_SIGMA : SIGMA;
    }
    int place = java.util.Arrays.binarySearch(points, point);
    return place < 0 ? null : made[place];
  }

  /** Return whether a sigma is behind a letter, and before none of the same word. */
  private boolean isFinal(byte[] data, int from, int at, int to) {
    int p = at;
    boolean isBehind = false;
    while (p > from) {
      p--;
      while (p > from && (data[p] & 0xc0) == 0x80) {
        p--;
      }
      int point = TextCalls.pointAt(data, p);
      if (!isIn(ignored, point)) {
        isBehind = isIn(cased, point);
        break;
      }
    }
    if (!isBehind) {
      return false;
    }
    for (p = at + TextCalls.sizeAt(data, at); p < to; p += TextCalls.sizeAt(data, p)) {
      int point = TextCalls.pointAt(data, p);
      if (!isIn(ignored, point)) {
        return !isIn(cased, point);
      }
    }
    return true;
  }

  private static boolean isIn(int[] ranges, int point) {
    int low = 0;
    int high = ranges.length / 2 - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (point < ranges[2 * middle]) {
        high = middle - 1;
      } else if (point > ranges[2 * middle + 1]) {
        low = middle + 1;
      } else {
        return true;
      }
    }
    return false;
  }
}
