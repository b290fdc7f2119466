package counterfoil.messages;

/**
 * Writes Protobuf messages from their last byte to their first, so that the size of each message is known when it is
 * written: fields by number, entries of maps in an order of their keys.
 */
public final class WireWriter {
  private static final int MAX_DEPTH = 100;
  private static final java.math.BigInteger NANOS = java.math.BigInteger.valueOf(1000000000L);

  private byte[] data = new byte[512];
  private int start;
  private int depth;

  /** Write a message of base values, and append it to the output. */
  public void write(Layout type, Object[] fields, Output out) {
    if (!type.isSettled) {
      Fitting.message(type, fields);
    }
    start = data.length;
    depth = MAX_DEPTH;
    message(type, fields);
    out.put(data, start, data.length);
  }

  private void message(Layout type, Object[] fields) {
    Member[] members = type.members;
    for (int i = members.length - 1; i >= 0; i--) {
      if (fields[i] != null) {
        field(members[i], fields[i]);
      }
    }
  }

  private void field(Member member, Object value) {
    if (member.isMap) {
      entries(member, (Entries) value);
    } else if (member.isRepeated) {
      items(member, (Items) value);
    } else if (member.hasPresence || !isZero(member, value)) {
      one(member, value);
    }
  }

  private static boolean isZero(Member member, Object value) {
    switch (member.kind) {
      case Member.BOOL: return value == Boolean.FALSE;
      case Member.ENUM: return member.symbols.numberOf((Texts) value) == 0;
      case Member.FLOAT:
      case Member.DOUBLE: return Double.doubleToRawLongBits(((Double) value).doubleValue()) == 0;
      case Member.STRING: return ((Texts) value).from == ((Texts) value).to;
      case Member.BYTES: return ((byte[]) value).length == 0;
      default: return value instanceof Long && ((Long) value).longValue() == 0;
    }
  }

  private void items(Member member, Items items) {
    if (items.count == 0) {
      return;
    }
    if (!member.isPacked) {
      for (int i = items.count - 1; i >= 0; i--) {
        one(member, items.values[i]);
      }
      return;
    }
    int end = fromEnd();
    for (int i = items.count - 1; i >= 0; i--) {
      content(member, items.values[i]);
    }
    putVarint(fromEnd() - end);
    putVarint((long) member.number << 3 | 2);
  }

  private void entries(Member member, Entries entries) {
    Member key = member.inner.members[0];
    Member value = member.inner.members[1];
    Object[] sorted = new Object[entries.count];
    for (int i = 0; i < sorted.length; i++) {
      sorted[i] = new Object[] {Fitting.key(key, entries.keys[i]), entries.values[i]};
    }
    java.util.Arrays.sort(sorted, new WireOrder());
    for (int i = sorted.length - 1; i >= 0; i--) {
      Object[] pair = (Object[]) sorted[i];
      int end = fromEnd();
      one(value, pair[1]);
      one(key, pair[0]);
      putVarint(fromEnd() - end);
      putVarint((long) member.number << 3 | 2);
    }
  }

  private int fromEnd() {
    return data.length - start;
  }

  /** Write a value and its tag. */
  private void one(Member member, Object value) {
    content(member, value);
    putVarint((long) member.number << 3 | member.wireType);
  }

  private void content(Member member, Object value) {
    switch (member.kind) {
      case Member.INT32:
      case Member.INT64:
      case Member.UINT32:
      case Member.UINT64: putVarint(bits(value)); return;
      case Member.SINT32: {
        int number = (int) bits(value);
        putVarint(((number << 1) ^ (number >> 31)) & 0xffffffffL);
        return;
      }
      case Member.SINT64: {
        long number = bits(value);
        putVarint((number << 1) ^ (number >> 63));
        return;
      }
      case Member.BOOL: putVarint(value == Boolean.TRUE ? 1 : 0); return;
      case Member.ENUM: putVarint(member.symbols.numberOf((Texts) value)); return;
      case Member.FIXED32:
      case Member.SFIXED32: putFixed(bits(value), 4); return;
      case Member.FLOAT: putFixed(Float.floatToRawIntBits((float) ((Double) value).doubleValue()), 4); return;
      case Member.FIXED64:
      case Member.SFIXED64: putFixed(bits(value), 8); return;
      case Member.DOUBLE: putFixed(Double.doubleToRawLongBits(((Double) value).doubleValue()), 8); return;
      case Member.STRING: {
        Texts text = (Texts) value;
        put(text.data, text.from, text.to);
        putVarint(text.to - text.from);
        return;
      }
      case Member.BYTES: {
        byte[] bytes = (byte[]) value;
        put(bytes, 0, bytes.length);
        putVarint(bytes.length);
        return;
      }
      default: nested(member, value);
    }
  }

  private void nested(Member member, Object value) {
    if (--depth < 0) {
      throw new Misfit(Codes.UNENCODABLE, "messages are nested more than " + MAX_DEPTH + " deep");
    }
    int end = fromEnd();
    if (member.kind == Member.GROUP) {
      putVarint((long) member.number << 3 | 4);
    }
    switch (member.form) {
      case Member.NANOS: seconds(member.inner, value, true); break;
      case Member.DURATION: seconds(member.inner, value, false); break;
      case Member.DATE: date(member.inner, ((Long) value).longValue()); break;
      case Member.WRAPPED: field(member.inner.members[0], value); break;
      default: message(member.inner, (Object[]) value);
    }
    if (member.kind == Member.MESSAGE) {
      putVarint(fromEnd() - end);
    }
    depth++;
  }

  /** Write a point in time, whose nanoseconds are counted upwards, or a duration, whose parts have one sign. */
  private void seconds(Layout type, Object nanos, boolean isUpwards) {
    long seconds;
    long rest;
    if (nanos instanceof Long) {
      long value = ((Long) nanos).longValue();
      seconds = isUpwards ? Math.floorDiv(value, 1000000000L) : value / 1000000000L;
      rest = value - seconds * 1000000000L;
    } else {
      java.math.BigInteger[] parts = ((java.math.BigInteger) nanos).divideAndRemainder(NANOS);
      boolean isBelow = isUpwards && parts[1].signum() < 0;
      seconds = parts[0].longValue() - (isBelow ? 1 : 0);
      rest = parts[1].longValue() + (isBelow ? 1000000000L : 0);
    }
    field(type.members[1], Long.valueOf(rest));
    field(type.members[0], Long.valueOf(seconds));
  }

  private void date(Layout type, long day) {
    java.time.LocalDate date = java.time.LocalDate.ofEpochDay(day);
    field(type.members[2], Long.valueOf(date.getDayOfMonth()));
    field(type.members[1], Long.valueOf(date.getMonthValue()));
    field(type.members[0], Long.valueOf(date.getYear()));
  }

  private static long bits(Object value) {
    return ((Number) value).longValue();
  }

  // -- bytes

  private void reserve(int more) {
    if (more > start) {
      int used = fromEnd();
      long wanted = Math.max((long) data.length * 2, (long) used + more);
      byte[] larger = new byte[(int) Math.min(wanted, Integer.MAX_VALUE - 16)];
      System.arraycopy(data, start, larger, larger.length - used, used);
      data = larger;
      start = larger.length - used;
    }
  }

  private void put(byte[] from, int begin, int end) {
    int length = end - begin;
    reserve(length);
    start -= length;
    System.arraycopy(from, begin, data, start, length);
  }

  private void putFixed(long bits, int size) {
    reserve(size);
    start -= size;
    for (int i = 0; i < size; i++) {
      data[start + i] = (byte) (bits >>> (8 * i));
    }
  }

  private void putVarint(long value) {
    if ((value & ~0x7fL) == 0) {
      reserve(1);
      data[--start] = (byte) value;
      return;
    }
    int size = (70 - Long.numberOfLeadingZeros(value)) / 7;
    reserve(size);
    start -= size;
    long rest = value;
    for (int i = 0; i < size - 1; i++) {
      data[start + i] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    data[start + size - 1] = (byte) rest;
  }
}
