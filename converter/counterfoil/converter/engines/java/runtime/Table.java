package counterfoil.runtime;

/** A lookup table: the place of a text or a whole number among its keys, -1 where it is none of them. */
public final class Table {
  private final byte[][] texts;
  private final long[] numbers;
  private final int[] slots;

  public Table(byte[][] texts) {
    this.texts = texts;
    this.numbers = null;
    this.slots = slotsFor(texts.length);
    for (int i = 0; i < texts.length; i++) {
      insert(hash(texts[i], 0, texts[i].length), i);
    }
  }

  public Table(long[] numbers) {
    this.texts = null;
    this.numbers = numbers;
    this.slots = slotsFor(numbers.length);
    for (int i = 0; i < numbers.length; i++) {
      insert(hash(numbers[i]), i);
    }
  }

  private static int[] slotsFor(int count) {
    int size = 4;
    while (size < 2 * count) {
      size *= 2;
    }
    int[] made = new int[size];
    java.util.Arrays.fill(made, -1);
    return made;
  }

  private void insert(int hash, int place) {
    int slot = hash & (slots.length - 1);
    while (slots[slot] >= 0) {
      slot = (slot + 1) & (slots.length - 1);
    }
    slots[slot] = place;
  }

  private static int hash(byte[] data, int from, int to) {
    int hash = 17;
    for (int p = from; p < to; p++) {
      hash = 31 * hash + data[p];
    }
    return hash ^ hash >>> 15;
  }

  private static int hash(long number) {
    long mixed = number * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32);
  }

  public int placeOf(byte[] data, int from, int to) {
    int slot = hash(data, from, to) & (slots.length - 1);
    while (slots[slot] >= 0) {
      if (Texts.equal(data, from, to, texts[slots[slot]])) {
        return slots[slot];
      }
      slot = (slot + 1) & (slots.length - 1);
    }
    return -1;
  }

  public int placeOf(long number) {
    int slot = hash(number) & (slots.length - 1);
    while (slots[slot] >= 0) {
      if (numbers[slots[slot]] == number) {
        return slots[slot];
      }
      slot = (slot + 1) & (slots.length - 1);
    }
    return -1;
  }

  public static Failure missing(String shown, String field) {
    return new Failure(Codes.LOOKUP_MISSING, field, shown + " is not in the table");
  }
}
