package counterfoil.messages;

/** A field of a Protobuf message. */
public final class Member {
  public static final int INT32 = 0;
  public static final int INT64 = 1;
  public static final int UINT32 = 2;
  public static final int UINT64 = 3;
  public static final int SINT32 = 4;
  public static final int SINT64 = 5;
  public static final int BOOL = 6;
  public static final int ENUM = 7;
  public static final int FIXED32 = 8;
  public static final int SFIXED32 = 9;
  public static final int FLOAT = 10;
  public static final int FIXED64 = 11;
  public static final int SFIXED64 = 12;
  public static final int DOUBLE = 13;
  public static final int STRING = 14;
  public static final int BYTES = 15;
  public static final int MESSAGE = 16;
  public static final int GROUP = 17;

  /** What a message of a well-known type stands for. */
  public static final int NANOS = 1;
  public static final int DATE = 2;
  public static final int WRAPPED = 3;
  public static final int DURATION = 4;

  public static final int REPEATED = 1;
  public static final int PACKED = 2;
  public static final int MAP = 4;
  public static final int PRESENCE = 8;
  public static final int REQUIRED = 16;
  public static final int UNCHECKED = 32;

  public final String name;
  public final int number;
  public final int kind;
  public final boolean isRepeated;
  public final boolean isPacked;
  public final boolean isMap;
  public final boolean hasPresence;
  public final boolean isRequired;
  /** Whether its text must be UTF-8. */
  public final boolean isChecked;
  public final int wireType;
  /** The size of its numbers on the wire; 0 for varints, -1 where they cannot be packed. */
  public final int size;
  public final int form;
  public int index;
  /** The places of the other members of its oneof. */
  public int[] others = new int[0];
  public Layout inner;
  public Symbols symbols;

  public Member(String name, int number, int kind, int flags, int form) {
    this.name = name;
    this.number = number;
    this.kind = kind;
    this.form = form;
    isRepeated = (flags & REPEATED) != 0;
    isPacked = (flags & PACKED) != 0;
    isMap = (flags & MAP) != 0;
    hasPresence = (flags & PRESENCE) != 0;
    isRequired = (flags & REQUIRED) != 0;
    isChecked = (flags & UNCHECKED) == 0;
    size = kind <= ENUM ? 0 : kind <= FLOAT ? 4 : kind <= DOUBLE ? 8 : -1;
    wireType = kind <= ENUM ? 0 : kind <= FLOAT ? 5 : kind <= DOUBLE ? 1 : kind == GROUP ? 3 : 2;
  }

  public Member of(Layout inner) {
    this.inner = inner;
    return this;
  }

  public Member of(Symbols symbols) {
    this.symbols = symbols;
    return this;
  }

  public Member beside(int[] others) {
    this.others = others;
    return this;
  }

  /** Return the value of a field that is not set and has no presence. */
  public Object zero() {
    if (isRepeated || hasPresence) {
      return null;
    }
    return plainZero();
  }

  /** Return the zero of the type. */
  public Object plainZero() {
    switch (kind) {
      case BOOL: return Boolean.FALSE;
      case FLOAT:
      case DOUBLE: return Double.valueOf(0);
      case STRING: return new Texts();
      case BYTES: return Texts.EMPTY;
      case MESSAGE:
      case GROUP: return null;
      default: return Long.valueOf(0);
    }
  }
}
