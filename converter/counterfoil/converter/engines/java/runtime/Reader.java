package counterfoil.runtime;

/**
 * Reads Avro's binary encoding. Methods take the data and the position of the first byte, and return the position after
 * the value; the value itself is in a member. Everything is checked; what is wrong is a Failure.
 */
public abstract class Reader {
  private static final long MAX_EMPTY_ITEMS = 10000;
  private static final long WEIGHT_OF_ITEM = 16;

  /** The value that was read last: a number, a boolean (0 or 1), or the length of bytes. */
  public long number;
  public double real;
  /** Whether some part of the record is not written in the one way in which it would be written again. */
  public boolean odd;

  private long emptyItemsLeft;
  private long weightLeft;

  /** Begin a record of {@code length} bytes. */
  protected final void begin(int length) {
    odd = false;
    emptyItemsLeft = MAX_EMPTY_ITEMS;
    weightLeft = MAX_EMPTY_ITEMS * WEIGHT_OF_ITEM + length;
  }

  /** Begin to read parts of the record once more: they were counted the first time. */
  protected final void beginAgain() {
    emptyItemsLeft = Long.MAX_VALUE;
    weightLeft = Long.MAX_VALUE;
  }

  public static Failure undecodable(String problem, int position) {
    return new Failure(Codes.UNDECODABLE, "", problem + " (offset " + position + ")");
  }

  private static Failure insideNumber(int left) {
    return new Failure(Codes.UNDECODABLE, "", "The data ends inside a number (" + left + " bytes are left)");
  }

  private static Failure endsEarly(long announced, int left) {
    String text = "The data ends early: " + announced + " bytes are announced and " + left + " are left";
    return new Failure(Codes.UNDECODABLE, "", text);
  }

  /** Read a whole number of 64 bits. */
  public final int readLong(byte[] data, int at) {
    if (at < data.length) {
      int low = data[at];
      if (low >= 0) {
        number = (low >>> 1) ^ -(low & 1);
        return at + 1;
      }
    }
    return at + 8 <= data.length ? readLongInWord(data, at) : readLongByBytes(data, at);
  }

  /** Read a number whose next eight bytes are there: the groups of seven bits of up to eight bytes at once. */
  private int readLongInWord(byte[] data, int at) {
    long word = Words.get(data, at);
    long ends = ~word & 0x8080808080808080L;
    if (ends == 0) {
      return readLongByBytes(data, at);
    }
    int bits = Long.numberOfTrailingZeros(ends) + 1;
    if (bits < 64) {
      word &= (1L << bits) - 1;
    }
    if (word >>> bits - 8 == 0) {
      odd = true;
    }
    word = word & 0x007f007f007f007fL | (word & 0x7f007f007f007f00L) >>> 1;
    word = word & 0x00003fff00003fffL | (word & 0x3fff00003fff0000L) >>> 2;
    word = word & 0x000000000fffffffL | (word & 0x0fffffff00000000L) >>> 4;
    number = (word >>> 1) ^ -(word & 1);
    return at + (bits >>> 3);
  }

  private int readLongByBytes(byte[] data, int at) {
    long raw = 0;
    int shift = 0;
    int p = at;
    while (true) {
      if (p >= data.length) {
        throw insideNumber(data.length - at);
      }
      int low = data[p++];
      raw |= (low & 0x7fL) << shift;
      if (shift == 63 && (low & 0xff) > 1) {
        throw undecodable("A number of more than 10 bytes or 64 bits", at);
      }
      if (low >= 0) {
        if (low == 0) {
          odd = true;
        }
        number = (raw >>> 1) ^ -(raw & 1);
        return p;
      }
      shift += 7;
    }
  }

  /** Read a whole number of 32 bits. */
  public final int readInt(byte[] data, int at) {
    int p = readLong(data, at);
    if (number != (int) number) {
      throw undecodable(number + " is no int of 32 bits", at);
    }
    return p;
  }

  /** Read the number of one of {@code count} symbols or branches. */
  public final int readChoice(byte[] data, int at, int count, String what) {
    int p = readLong(data, at);
    if (number < 0 || number >= count) {
      throw undecodable(what + " number " + number + " of " + count, at);
    }
    return p;
  }

  public final int readBoolean(byte[] data, int at) {
    if (at >= data.length) {
      throw endsEarly(1, 0);
    }
    number = data[at];
    if (number != 0 && number != 1) {
      throw undecodable("A boolean of " + (number & 0xff) + "; expected 0 or 1", at);
    }
    return at + 1;
  }

  public final int readFloat(byte[] data, int at) {
    int end = skip(data, at, 4);
    int bits = (data[at] & 0xff) | (data[at + 1] & 0xff) << 8 | (data[at + 2] & 0xff) << 16 | data[at + 3] << 24;
    if ((bits & 0x7fc00000) == 0x7f800000 && (bits & 0x3fffff) != 0) {
      odd = true;  // a signalling NaN, which becomes a quiet one
    }
    real = Float.intBitsToFloat(bits);
    return end;
  }

  public final int readDouble(byte[] data, int at) {
    int end = skip(data, at, 8);
    int low = (data[at] & 0xff) | (data[at + 1] & 0xff) << 8 | (data[at + 2] & 0xff) << 16 | data[at + 3] << 24;
    int high = (data[at + 4] & 0xff) | (data[at + 5] & 0xff) << 8 | (data[at + 6] & 0xff) << 16 | data[at + 7] << 24;
    real = Double.longBitsToDouble((low & 0xffffffffL) | (long) high << 32);
    return end;
  }

  /** Read a length, and check that as many bytes follow it; {@code number} is the length. */
  public final int readSize(byte[] data, int at) {
    int p = readLength(data, at);
    if (number > data.length - p) {
      throw endsEarly(number, data.length - p);
    }
    return p;
  }

  private int readLength(byte[] data, int at) {
    int p = readLong(data, at);
    if (number < 0) {
      throw undecodable("A negative length, " + number, at);
    }
    return p;
  }

  /** Skip bytes of a known number. */
  public final int skip(byte[] data, int at, int size) {
    if (size > data.length - at) {
      throw endsEarly(size, data.length - at);
    }
    return at + size;
  }

  /** Skip a length and as many bytes. */
  public final int skipBytes(byte[] data, int at) {
    int p = readSize(data, at);
    return p + (int) number;
  }

  /** Skip a number without checking its size. */
  public final int skipNumber(byte[] data, int at) {
    int p = at;
    while (p < data.length && data[p] < 0) {
      p++;
    }
    if (p >= data.length) {
      throw insideNumber(0);
    }
    return p + 1;
  }

  /** Check that bytes are UTF-8. */
  public static void checkText(byte[] data, int from, int to) {
    int p = from;
    while (p < to && data[p] >= 0) {
      p++;
    }
    if (p < to && !Texts.isUtf8(data, p, to)) {
      throw undecodable("Text that is not UTF-8", p);
    }
  }

  /** Read the number of items of a block; 0 is the end. {@code smallest} is the size that every item has at least. */
  public final int readBlock(byte[] data, int at, int smallest) {
    int p = readLong(data, at);
    long count = number;
    if (count < 0) {
      odd = true;
      p = readLength(data, p);
      count = -count;
    }
    checkCount(count, smallest, data.length - p);
    number = count;
    return p;
  }

  /**
   * Read the number of items of a block that is skipped; -1 where its size in bytes is known, and it is skipped as a
   * whole.
   */
  public final int skipBlock(byte[] data, int at, int smallest) {
    int p = readLong(data, at);
    long count = number;
    if (count < 0) {
      p = skipBytes(data, p);
      number = -1;
      return p;
    }
    checkCount(count, smallest, data.length - p);
    number = count;
    return p;
  }

  private void checkCount(long count, int smallest, int left) {
    if (count < 0 || (smallest > 0 && count > left / smallest)) {
      throw new Failure(Codes.UNDECODABLE, "",
          "A block of " + count + " items is announced and " + left + " bytes are left");
    }
    if (smallest == 0) {
      emptyItemsLeft -= count;
      if (emptyItemsLeft < 0) {
        String text = "More than " + MAX_EMPTY_ITEMS + " items that take no bytes";
        throw new Failure(Codes.UNDECODABLE, "", text);
      }
    }
  }

  /** Count what a repeated record has beside its data. */
  public final void weigh(int weight) {
    weightLeft -= weight;
    if (weightLeft < 0) {
      throw new Failure(Codes.UNDECODABLE, "",
          "Too many defaults and nulls, which take no bytes, for the size of the message");
    }
  }
}
