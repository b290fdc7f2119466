package counterfoil.messages;

/** Finds the place where bytes stop being a Protobuf message; the meaning is that of the SDK's module faults. */
public final class Faults {
  private static final int MAX_DEPTH = 100;
  private static final long MAX_NUMBER = (1 << 29) - 1;

  private final byte[] data;
  private final java.util.ArrayList path = new java.util.ArrayList();
  private int depth;
  private int position;

  private static final class Found extends RuntimeException {
    final String problem;

    Found(String problem) {
      super(problem, null, false, false);
      this.problem = problem;
    }
  }

  public Faults(byte[] data) {
    this.data = data;
  }

  /** Return the failure of bytes that are no message. */
  public Failure find(Layout type, int from) {
    position = from;
    try {
      message(type, data.length, -1);
    } catch (Found found) {
      StringBuilder where = new StringBuilder();
      for (int i = 0; i < path.size(); i++) {
        where.append(i == 0 ? "" : ".").append(path.get(i));
      }
      return new Failure(Codes.UNDECODABLE, where.toString(), found.problem + " (offset " + position + ")");
    }
    return new Failure(Codes.UNDECODABLE, "", "The bytes are no " + type.name);
  }

  private void message(Layout type, int end, long group) {
    if (++depth > MAX_DEPTH) {
      throw new Found("Messages are nested more than " + MAX_DEPTH + " deep");
    }
    while (position < end) {
      long tag = varint(end);
      long number = tag >>> 3;
      if (number < 1 || number > MAX_NUMBER) {
        throw new Found(number + " is no field number");
      }
      if ((tag & 7) == 4) {
        if (number != group) {
          throw new Found("The end of group " + number + ", which is not open");
        }
        depth--;
        return;
      }
      Member member = type == null ? null : type.find((int) number);
      path.add(member == null ? Long.toString(number) : member.name);
      value(member, number, (int) (tag & 7), end);
      path.remove(path.size() - 1);
    }
    if (group >= 0) {
      throw new Found("The data ends inside group " + group);
    }
    depth--;
  }

  private void value(Member member, long number, int wireType, int end) {
    switch (wireType) {
      case 0: varint(end); return;
      case 1: skip(8, end); return;
      case 5: skip(4, end); return;
      case 3: message(member == null ? null : member.inner, end, number); return;
      case 2: break;
      default: throw new Found(wireType + " is no wire type");
    }
    long size = varint(end);
    int from = position;
    skip(size, end);
    int after = position;
    if (member != null && member.kind == Member.MESSAGE) {
      position = from;
      message(member.inner, after, -1);
    } else if (member != null && member.kind == Member.STRING) {
      if (!Texts.isUtf8(data, from, after)) {
        throw new Found("A string that is not UTF-8");
      }
    } else if (member != null && member.isRepeated && member.size >= 0) {
      position = from;
      while (position < after) {
        if (member.size == 0) {
          varint(after);
        } else {
          skip(member.size, after);
        }
      }
    }
    position = after;
  }

  /** Read a number; the largest for one beyond 63 bits. */
  private long varint(int end) {
    long value = 0;
    int p = position;
    for (int i = 0; i < 10; i++) {
      if (p >= end) {
        throw new Found("The data ends inside a number");
      }
      long low = data[p++];
      value |= (low & 0x7f) << 7 * i;
      if (low >= 0) {
        position = p;
        return (i == 9 && low > 0) || value < 0 ? Long.MAX_VALUE : value;
      }
    }
    throw new Found("A number of more than 10 bytes");
  }

  private void skip(long size, int end) {
    if (size > end - position) {
      throw new Found("A value of " + size + " bytes, and the message has " + (end - position) + " more");
    }
    position += (int) size;
  }
}
