package counterfoil.messages;

/** The entries of a map, in an order; of equal keys the last value counts. */
public final class Entries {
  private static final int FEW = 8;

  public Texts[] keys = new Texts[4];
  public Object[] values = new Object[4];
  public int count;
  private java.util.HashMap places;

  public Entries() {
  }

  public Entries(Texts[] keys, Object[] values) {
    this.keys = keys;
    this.values = values;
    this.count = keys.length;
  }

  /** Add an entry whose key is new. */
  public void add(Texts key, Object value) {
    if (count == keys.length) {
      keys = (Texts[]) java.util.Arrays.copyOf(keys, 2 * count + 1);
      values = java.util.Arrays.copyOf(values, 2 * count + 1);
    }
    keys[count] = key;
    values[count++] = value;
  }

  /** Add an entry, or replace the value of an equal key. */
  public void put(Texts key, Object value) {
    int place = placeOf(key);
    if (place >= 0) {
      values[place] = value;
      return;
    }
    if (places != null) {
      places.put(nameOf(key), Integer.valueOf(count));
    }
    add(key, value);
  }

  private int placeOf(Texts key) {
    if (count <= FEW) {
      for (int i = 0; i < count; i++) {
        if (Values.compare(keys[i], key) == 0) {
          return i;
        }
      }
      return -1;
    }
    if (places == null) {
      places = new java.util.HashMap();
      for (int i = 0; i < count; i++) {
        places.put(nameOf(keys[i]), Integer.valueOf(i));
      }
    }
    Object found = places.get(nameOf(key));
    return found == null ? -1 : ((Integer) found).intValue();
  }

  private static String nameOf(Texts key) {
    return Texts.string(key.data, key.from, key.to);
  }
}
