package counterfoil.runtime;

/** Converts one record after the other for one thread; generated code says how. */
public abstract class Worker extends Reader {
  private static final int PREFIX_BYTES = 5;

  protected final Output out = new Output();
  /** What hashes are made with, by names. */
  java.util.HashMap secrets = new java.util.HashMap();
  /** The record that is converted. */
  protected byte[] data;

  /** Read the body of a record of a schema id, and return the position after it; -1 for an unknown id. */
  protected abstract int read(int schemaId, byte[] data, int at);

  /** Write the target's record. */
  protected abstract void write();

  protected abstract byte[] prefix();

  /** Return what makes hashes with the secret of a name. */
  protected final javax.crypto.Mac mac(String name) {
    byte[] key = (byte[]) secrets.get(name);
    if (key == null) {
      throw new IllegalStateException("the secret " + name + " is not known");
    }
    return TextCalls.mac(key);
  }

  protected abstract String knownIds();

  /** Return the converted value, framed, or the failure as bytes. */
  public final byte[] convert(byte[] value) {
    try {
      data = value;
      checkFrame(value);
      begin(value.length);
      int id = (value[1] & 0xff) << 24 | (value[2] & 0xff) << 16 | (value[3] & 0xff) << 8 | (value[4] & 0xff);
      int end = read(id, value, PREFIX_BYTES);
      if (end < 0) {
        String text = "schema id " + (id & 0xffffffffL) + " is none of " + knownIds();
        throw new Failure(Codes.UNKNOWN_SCHEMA_ID, "", text);
      }
      if (end != value.length) {
        String text = Texts.counted(value.length - end, "byte is", "bytes are") + " left behind the value";
        throw new Failure(Codes.TRAILING_BYTES, "", text + " (offset " + end + ")");
      }
      beginAgain();
      out.begin(prefix());
      write();
      return out.made();
    } catch (Failure failure) {
      return failure.answer();
    } finally {
      data = null;
    }
  }

  private static void checkFrame(byte[] value) {
    if (value.length < PREFIX_BYTES || value[0] != 0) {
      String first = value.length == 0 ? "nothing" : Texts.hex(value[0]);
      String size = Texts.counted(value.length, "byte", "bytes");
      throw new Failure(Codes.NOT_FRAMED, "", size + " beginning with " + first + " are no id frame of magic byte 00");
    }
  }

  public static Failure nullNotAllowed(String field) {
    return new Failure(Codes.NULL_NOT_ALLOWED, field, "the source is null here");
  }
}
