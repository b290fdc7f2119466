package counterfoil.runtime;

/** The entries of one map: where each key is, and where its value begins; of equal keys the last value counts. */
public final class Keys {
  private static final int FEW = 8;

  public int count;
  public int[] from = new int[8];
  public int[] to = new int[8];
  public int[] values = new int[8];
  private java.util.HashMap known;

  public void begin() {
    count = 0;
    known = null;
  }

  /** Add an entry, and return whether its key is new. */
  public boolean add(byte[] data, int start, int end, int value) {
    int place = find(data, start, end);
    if (place >= 0) {
      values[place] = value;
      return false;
    }
    if (count == from.length) {
      from = java.util.Arrays.copyOf(from, 2 * count);
      to = java.util.Arrays.copyOf(to, 2 * count);
      values = java.util.Arrays.copyOf(values, 2 * count);
    }
    if (known != null) {
      known.put(Texts.string(data, start, end), Integer.valueOf(count));
    }
    from[count] = start;
    to[count] = end;
    values[count++] = value;
    return true;
  }

  private int find(byte[] data, int start, int end) {
    if (count > FEW) {
      if (known == null) {
        known = new java.util.HashMap();
        for (int i = 0; i < count; i++) {
          known.put(Texts.string(data, from[i], to[i]), Integer.valueOf(i));
        }
      }
      Object found = known.get(Texts.string(data, start, end));
      return found == null ? -1 : ((Integer) found).intValue();
    }
    for (int i = 0; i < count; i++) {
      if (to[i] - from[i] == end - start && isSame(data, from[i], start, end - start)) {
        return i;
      }
    }
    return -1;
  }

  private static boolean isSame(byte[] data, int left, int right, int length) {
    for (int i = 0; i < length; i++) {
      if (data[left + i] != data[right + i]) {
        return false;
      }
    }
    return true;
  }
}
