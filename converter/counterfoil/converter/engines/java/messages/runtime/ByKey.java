package counterfoil.messages;

/** The order of pairs by their keys: texts, booleans or whole numbers. */
public final class ByKey implements java.util.Comparator {
  public int compare(Object left, Object right) {
    return compareKeys(((Object[]) left)[0], ((Object[]) right)[0]);
  }

  public static int compareKeys(Object left, Object right) {
    if (left instanceof Texts) {
      return Values.compare((Texts) left, (Texts) right);
    }
    if (left instanceof Long && right instanceof Long) {
      return ((Long) left).compareTo((Long) right);
    }
    return left instanceof Boolean ? ((Boolean) left).compareTo((Boolean) right)
        : Values.big(left).compareTo(Values.big(right));
  }
}
