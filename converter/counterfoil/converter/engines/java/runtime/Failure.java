package counterfoil.runtime;

/** Why one record cannot be converted: a code, a field and a sentence. It has no stack trace, since it is a result. */
public final class Failure extends RuntimeException {
  private final int code;
  private final String text;
  private String field;

  public Failure(int code, String field, String text) {
    super(text, null, false, false);
    this.code = code;
    this.field = field;
    this.text = text;
  }

  /** Return the same failure with another code. */
  public Failure as(int other) {
    return new Failure(other, field, text);
  }

  /** Return the same failure inside a field of a record. */
  public Failure inField(String name) {
    field = field.length() == 0 || field.charAt(0) == '[' ? name + field : name + "." + field;
    return this;
  }

  /** Return the same failure inside of what is at a path; the empty path is the whole. */
  public Failure inside(String around) {
    boolean isJoined = around.length() == 0 || field.length() == 0 || "[{<".indexOf(field.charAt(0)) >= 0;
    field = around + (isJoined ? "" : ".") + field;
    return this;
  }

  /** Return the same failure inside an item of an array. */
  public Failure inItem(int index) {
    return behind("[" + index + "]");
  }

  /** Return the same failure inside the value of a key of a map. */
  public Failure inKey(byte[] data, int from, int to) {
    return behind("[" + Texts.repr(Texts.string(data, from, to)) + "]");
  }

  private Failure behind(String step) {
    field = field.length() == 0 || field.charAt(0) == '[' ? step + field : step + "." + field;
    return this;
  }

  /** Return the failure as bytes: FF, the code's number, the field, 00, the sentence. */
  public byte[] answer() {
    byte[] where = Texts.bytes(field);
    byte[] why = Texts.bytes(text);
    byte[] made = new byte[3 + where.length + why.length];
    made[0] = (byte) 0xff;
    made[1] = (byte) code;
    System.arraycopy(where, 0, made, 2, where.length);
    System.arraycopy(why, 0, made, 3 + where.length, why.length);
    return made;
  }
}
