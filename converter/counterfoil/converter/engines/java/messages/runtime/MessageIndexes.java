package counterfoil.messages;

/** The message indexes between a schema id and a Protobuf message, and those that one writer may use. */
public final class MessageIndexes {
  private static final int MOST = 64;
  private static final int BYTES = 5;

  private final java.util.HashMap fieldByPath = new java.util.HashMap();
  private final boolean isFirst;

  /** {@code fields} has the field that cannot be read for each path, or the empty text if the message can be read. */
  public MessageIndexes(String[] paths, String[] fields) {
    for (int i = 0; i < paths.length; i++) {
      fieldByPath.put(paths[i], fields[i]);
    }
    isFirst = "".equals(fieldByPath.get("0"));
  }

  /** Read the indexes, and return the position after them. */
  public int after(byte[] data, int at) {
    if (isFirst && at < data.length && data[at] == 0) {
      return at + 1;
    }
    long found = read(data, at);
    int p = (int) (found >> 32);
    int count = (int) found;
    if (count < 0 || count > MOST) {
      throw unframed(count + " message indexes; expected 0 to " + MOST);
    }
    StringBuilder path = new StringBuilder(count == 0 ? "0" : "");
    for (int i = 0; i < count; i++) {
      found = read(data, p);
      p = (int) (found >> 32);
      if ((int) found < 0) {
        throw unframed((int) found + " is no message index; expected 0 or more");
      }
      path.append(i == 0 ? "" : ".").append((int) found);
    }
    String field = (String) fieldByPath.get(path.toString());
    if (field == null || field.length() > 0) {
      String text = "The message indexes " + path + " lead to no message that is read here";
      throw new Failure(Codes.UNDECODABLE, field == null ? "" : field, text);
    }
    return p;
  }

  /** Read a number of 32 bits, and return it below the position after it; threads share this object. */
  private static long read(byte[] data, int at) {
    long raw = 0;
    for (int i = 0; i < BYTES; i++) {
      if (at + i >= data.length) {
        throw unframed("The data ends inside the message indexes");
      }
      int low = data[at + i];
      raw |= (low & 0x7fL) << 7 * i;
      if (low >= 0) {
        if (raw >> 32 != 0) {
          throw unframed("A message index of more than 32 bits");
        }
        return (long) (at + i + 1) << 32 | (((raw >>> 1) ^ -(raw & 1)) & 0xffffffffL);
      }
    }
    throw unframed("A message index of more than " + BYTES + " bytes");
  }

  private static Failure unframed(String problem) {
    return new Failure(Codes.NOT_FRAMED, "", problem);
  }
}
