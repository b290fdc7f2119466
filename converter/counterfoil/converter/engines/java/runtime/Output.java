package counterfoil.runtime;

/** Writes Avro's binary encoding into a buffer that grows. */
public final class Output {
  private static final long BITS_IN_EIGHT_BYTES = 56;

  private byte[] data = new byte[512];
  private int size;

  public void begin(byte[] prefix) {
    size = 0;
    put(prefix, 0, prefix.length);
  }

  public byte[] made() {
    byte[] made = new byte[size];
    System.arraycopy(data, 0, made, 0, size);
    return made;
  }

  private void reserve(int more) {
    if (more > data.length - size) {
      long wanted = Math.max((long) data.length * 2, (long) size + more);
      byte[] larger = new byte[(int) Math.min(wanted, Integer.MAX_VALUE - 16)];
      System.arraycopy(data, 0, larger, 0, size);
      data = larger;
    }
  }

  /** Write bytes as they are. */
  public void put(byte[] from, int start, int end) {
    int length = end - start;
    reserve(length);
    if (length < 16) {
      for (int i = 0; i < length; i++) {
        data[size + i] = from[start + i];
      }
    } else {
      System.arraycopy(from, start, data, size, length);
    }
    size += length;
  }

  public void put(byte[] from) {
    put(from, 0, from.length);
  }

  public void putByte(int value) {
    reserve(1);
    data[size++] = (byte) value;
  }

  public void putLong(long value) {
    long raw = (value << 1) ^ (value >> 63);
    reserve(10);
    if ((raw & ~0x7fL) == 0) {
      data[size++] = (byte) raw;
    } else if (raw >>> BITS_IN_EIGHT_BYTES == 0) {
      putWord(raw);
    } else {
      while ((raw & ~0x7fL) != 0) {
        data[size++] = (byte) (raw | 0x80);
        raw >>>= 7;
      }
      data[size++] = (byte) raw;
    }
  }

  /** Write a number of two to eight bytes: all its groups of seven bits at once. */
  private void putWord(long raw) {
    int length = (70 - Long.numberOfLeadingZeros(raw)) / 7;
    long word = raw & 0x000000000fffffffL | (raw & 0x00fffffff0000000L) << 4;
    word = word & 0x00003fff00003fffL | (word & 0x0fffc0000fffc000L) << 2;
    word = word & 0x007f007f007f007fL | (word & 0x3f803f803f803f80L) << 1;
    word |= 0x0080808080808080L & (1L << 8 * (length - 1)) - 1;
    Words.put(data, size, word);
    size += length;
  }

  /** Write a length and as many bytes. */
  public void putBytes(byte[] from, int start, int end) {
    putLong(end - start);
    put(from, start, end);
  }

  public void putFloat(double value) {
    reserve(4);
    int bits = Float.floatToRawIntBits((float) value);
    for (int i = 0; i < 4; i++) {
      data[size++] = (byte) (bits >>> (8 * i));
    }
  }

  public void putDouble(double value) {
    reserve(8);
    long bits = Double.doubleToRawLongBits(value);
    for (int i = 0; i < 8; i++) {
      data[size++] = (byte) (bits >>> (8 * i));
    }
  }
}
