package counterfoil.messages;

/** The items of an array. */
public final class Items {
  private static final Object[] NONE = new Object[0];

  public Object[] values = NONE;
  public int count;

  public Items() {
  }

  public Items(Object[] values) {
    this.values = values;
    this.count = values.length;
  }

  public void add(Object value) {
    if (count == values.length) {
      values = java.util.Arrays.copyOf(values, Math.max(4, 2 * count));
    }
    values[count++] = value;
  }
}
