package counterfoil.messages;

/**
 * The base values of plans as Java objects.
 *
 * Boolean; Long, or BigInteger beyond 64 bits; Double; Texts for text; byte[]; Object[] for a record, with a value for
 * each field; Items for an array; Entries for a map; Tagged for a branch of a tagged union; null.
 */
public final class Values {
  private static final java.math.BigInteger LOW = java.math.BigInteger.valueOf(Long.MIN_VALUE);
  private static final java.math.BigInteger HIGH = java.math.BigInteger.valueOf(Long.MAX_VALUE);

  private Values() {
  }

  /** Return bytes as a text, without a copy. */
  public static Texts span(byte[] data, int from, int to) {
    Texts made = new Texts();
    made.set(data, from, to);
    return made;
  }

  public static Texts text(byte[] data) {
    return span(data, 0, data.length);
  }

  /** Return a copy of a text, whose buffer may be used again. */
  public static Texts copy(byte[] data, int from, int to) {
    return text(java.util.Arrays.copyOfRange(data, from, to));
  }

  public static byte[] bytes(Texts text) {
    return java.util.Arrays.copyOfRange(text.data, text.from, text.to);
  }

  /** Return a whole number, as Long if it has at most 64 bits. */
  public static Object whole(java.math.BigInteger value) {
    return value.compareTo(LOW) >= 0 && value.compareTo(HIGH) <= 0 ? (Object) Long.valueOf(value.longValue()) : value;
  }

  public static java.math.BigInteger big(Object value) {
    return value instanceof Long ? java.math.BigInteger.valueOf(((Long) value).longValue())
        : (java.math.BigInteger) value;
  }

  /** Return the number that 64 bits mean without a sign. */
  public static Object unsigned(long bits) {
    if (bits >= 0) {
      return Long.valueOf(bits);
    }
    return java.math.BigInteger.valueOf(bits).add(java.math.BigInteger.ONE.shiftLeft(64));
  }

  /** Compare two texts by their characters. */
  public static int compare(Texts left, Texts right) {
    return TextCalls.compare(left.data, left.from, left.to, right.data, right.from, right.to);
  }
}
