package counterfoil.messages;

/**
 * Reads Protobuf messages as Google's runtime does: fields in any order, of scalars the last value, repeated fields
 * together, messages merged; what the type does not have is left out.
 */
public final class WireReader {
  private static final int MAX_DEPTH = 100;
  private static final int MAX_NUMBER = (1 << 29) - 1;
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int LENGTH = 2;
  private static final int GROUP = 3;
  private static final int END_GROUP = 4;
  private static final int FIXED32 = 5;

  /** The bytes are no message. */
  private static final class Malformed extends RuntimeException {
    Malformed() {
      super("malformed", null, false, false);
    }
  }

  private static final Malformed MALFORMED = new Malformed();

  private byte[] data;
  private int position;
  private int depth;
  /** Whether a number that a closed enum does not have was left out. */
  private boolean isRefused;

  /** Read the message from a position to the end. */
  public Object[] read(Layout type, byte[] bytes, int from) {
    data = bytes;
    position = from;
    depth = MAX_DEPTH;
    Object[] made = type.empty();
    try {
      message(type, made, bytes.length, 0);
      return made;
    } catch (Malformed malformed) {
      throw new Faults(bytes).find(type, from);
    } finally {
      data = null;
    }
  }

  /** Read fields into a message, up to the end or to the end of a group. */
  private void message(Layout type, Object[] into, int end, int group) {
    while (position < end) {
      int tag = tag(end);
      int number = tag >>> 3;
      int wireType = tag & 7;
      if (wireType == END_GROUP) {
        if (group == 0 || number != group) {
          throw MALFORMED;
        }
        return;
      }
      Member member = number == 0 ? null : type.find(number);
      if (member == null || !take(member, wireType, into, end)) {
        skip(number, wireType, end);
      }
    }
    if (group != 0 || position != end) {
      throw MALFORMED;
    }
  }

  /** Read a value of a field; false if its wire type is not the field's, or its symbol is not known. */
  private boolean take(Member member, int wireType, Object[] into, int end) {
    if (wireType != member.wireType) {
      if (wireType == LENGTH && member.isRepeated && member.size >= 0) {
        packed(member, into, end);
        return true;
      }
      return false;
    }
    if (member.isMap) {
      entry(member, into, end);
    } else if (member.kind >= Member.MESSAGE) {
      nested(member, into, end);
    } else {
      Object value = scalar(member, end);
      if (value == null) {
        return true;
      }
      put(member, into, value);
    }
    return true;
  }

  private static void put(Member member, Object[] into, Object value) {
    if (member.isRepeated) {
      Items items = (Items) into[member.index];
      if (items == null) {
        into[member.index] = items = new Items();
      }
      items.add(value);
      return;
    }
    for (int i = 0; i < member.others.length; i++) {
      into[member.others[i]] = null;
    }
    into[member.index] = value;
  }

  private void nested(Member member, Object[] into, int end) {
    Object[] inner = member.isRepeated ? null : (Object[]) into[member.index];
    if (inner == null) {
      inner = member.inner.empty();
      put(member, into, inner);
    }
    if (member.kind == Member.GROUP) {
      deeper();
      message(member.inner, inner, end, member.number);
      depth++;
    } else {
      delimited(member.inner, inner, end);
    }
  }

  private void delimited(Layout type, Object[] into, int end) {
    int stop = size(end);
    deeper();
    message(type, into, stop, 0);
    depth++;
  }

  private void deeper() {
    if (--depth < 0) {
      throw MALFORMED;
    }
  }

  /** Read an entry of a map: a message of a key and a value; one with an unknown field is left out. */
  private void entry(Member member, Object[] into, int end) {
    Object[] pair = member.inner.empty();
    Member value = member.inner.members[1];
    if (value.inner != null) {
      pair[1] = value.inner.empty();
    }
    if (isEntry(member.inner, pair, end)) {
      put(member, into, pair);
    }
  }

  private boolean isEntry(Layout type, Object[] pair, int end) {
    int stop = size(end);
    deeper();
    boolean isKnown = true;
    while (position < stop) {
      int tag = tag(stop);
      Member part = tag >>> 3 == 0 ? null : type.find(tag >>> 3);
      if ((tag & 7) == END_GROUP) {
        throw MALFORMED;
      }
      isRefused = false;
      if (part == null || !take(part, tag & 7, pair, stop)) {
        isKnown = false;
        skip(tag >>> 3, tag & 7, stop);
      } else if (isRefused && part.kind == Member.ENUM) {
        isKnown = false;
      }
    }
    if (position != stop) {
      throw MALFORMED;
    }
    depth++;
    return isKnown;
  }

  private void packed(Member member, Object[] into, int end) {
    int stop = size(end);
    if (member.size > 0 && (stop - position) % member.size != 0) {
      throw MALFORMED;
    }
    while (position < stop) {
      Object value = scalar(member, stop);
      if (value != null) {
        put(member, into, value);
      }
    }
  }

  /** Read a scalar; null for a number that a closed enum does not have. */
  private Object scalar(Member member, int end) {
    switch (member.kind) {
      case Member.INT32: return Long.valueOf((int) varint(end));
      case Member.INT64: return Long.valueOf(varint(end));
      case Member.UINT32: return Long.valueOf(varint(end) & 0xffffffffL);
      case Member.UINT64: return Values.unsigned(varint(end));
      case Member.SINT32: {
        int raw = (int) varint(end);
        return Long.valueOf((raw >>> 1) ^ -(raw & 1));
      }
      case Member.SINT64: {
        long raw = varint(end);
        return Long.valueOf((raw >>> 1) ^ -(raw & 1));
      }
      case Member.BOOL: return varint(end) != 0 ? Boolean.TRUE : Boolean.FALSE;
      case Member.ENUM: {
        int number = (int) varint(end);
        if (member.symbols.isClosed && !member.symbols.has(number)) {
          isRefused = true;
          return null;
        }
        return Long.valueOf(number);
      }
      case Member.FIXED32: return Long.valueOf(fixed32(end) & 0xffffffffL);
      case Member.SFIXED32: return Long.valueOf(fixed32(end));
      case Member.FLOAT: return Double.valueOf(Float.intBitsToFloat(fixed32(end)));
      case Member.FIXED64: return Values.unsigned(fixed64(end));
      case Member.SFIXED64: return Long.valueOf(fixed64(end));
      case Member.DOUBLE: return Double.valueOf(Double.longBitsToDouble(fixed64(end)));
      case Member.STRING: {
        int stop = size(end);
        int from = position;
        position = stop;
        if (member.isChecked && !isText(from, stop)) {
          throw MALFORMED;
        }
        return Values.span(data, from, stop);
      }
      default: {
        int stop = size(end);
        byte[] made = java.util.Arrays.copyOfRange(data, position, stop);
        position = stop;
        return made;
      }
    }
  }

  private boolean isText(int from, int to) {
    int p = from;
    while (p < to && data[p] >= 0) {
      p++;
    }
    return p == to || Texts.isUtf8(data, p, to);
  }

  private void skip(int number, int wireType, int end) {
    if (number == 0 || number > MAX_NUMBER) {
      throw MALFORMED;
    }
    switch (wireType) {
      case VARINT: varint(end); return;
      case FIXED64: fixed64(end); return;
      case FIXED32: fixed32(end); return;
      case LENGTH: position = size(end); return;
      case GROUP: skipGroup(number, end); return;
      default: throw MALFORMED;
    }
  }

  private void skipGroup(int number, int end) {
    deeper();
    while (true) {
      int tag = tag(end);
      if ((tag & 7) == END_GROUP) {
        if (tag >>> 3 != number) {
          throw MALFORMED;
        }
        depth++;
        return;
      }
      skip(tag >>> 3, tag & 7, end);
    }
  }

  // -- numbers

  private int tag(int end) {
    long value = 0;
    for (int i = 0; i < 5; i++) {
      if (position >= end) {
        throw MALFORMED;
      }
      int low = data[position++];
      value |= (low & 0x7fL) << 7 * i;
      if (low >= 0) {
        if (value > 0xffffffffL) {
          throw MALFORMED;
        }
        return (int) value;
      }
    }
    throw MALFORMED;
  }

  /** Read a length, and return the end of as many bytes. */
  private int size(int end) {
    long value = 0;
    for (int i = 0; i < 5; i++) {
      if (position >= end) {
        throw MALFORMED;
      }
      int low = data[position++];
      value |= (low & 0x7fL) << 7 * i;
      if (low >= 0) {
        if (value > end - position) {
          throw MALFORMED;
        }
        return position + (int) value;
      }
    }
    throw MALFORMED;
  }

  private long varint(int end) {
    if (position < end && data[position] >= 0) {
      return data[position++];
    }
    long value = 0;
    for (int i = 0; i < 10; i++) {
      if (position >= end) {
        throw MALFORMED;
      }
      int low = data[position++];
      value |= (low & 0x7fL) << 7 * i;
      if (low >= 0) {
        return value;
      }
    }
    throw MALFORMED;
  }

  private int fixed32(int end) {
    int p = position;
    if (end - p < 4) {
      throw MALFORMED;
    }
    position = p + 4;
    return (data[p] & 0xff) | (data[p + 1] & 0xff) << 8 | (data[p + 2] & 0xff) << 16 | data[p + 3] << 24;
  }

  private long fixed64(int end) {
    if (end - position < 8) {
      throw MALFORMED;
    }
    long low = fixed32(end) & 0xffffffffL;
    return low | (long) fixed32(end) << 32;
  }
}
