package counterfoil.messages;

/**
 * The order in which Google's runtime writes the entries of a map: numbers by their bits, the largest first, true
 * before false; texts by their bytes, of which a longer one comes before its beginning.
 */
public final class WireOrder implements java.util.Comparator {
  public int compare(Object left, Object right) {
    Object one = ((Object[]) left)[0];
    Object other = ((Object[]) right)[0];
    if (one instanceof Texts) {
      return compareTexts((Texts) one, (Texts) other);
    }
    if (one instanceof Boolean) {
      return ((Boolean) other).compareTo((Boolean) one);
    }
    return Long.compareUnsigned(((Number) other).longValue(), ((Number) one).longValue());
  }

  private static int compareTexts(Texts one, Texts other) {
    int oneLength = one.to - one.from;
    int otherLength = other.to - other.from;
    int shared = Math.min(oneLength, otherLength);
    int order = TextCalls.compare(one.data, one.from, one.from + shared, other.data, other.from, other.from + shared);
    return order != 0 ? order : otherLength - oneLength;
  }
}
